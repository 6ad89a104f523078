import java.io.IOException;

/** Standard input as a signal: whoever started the program closes it to end the program. */
final class Stdin {
    private static volatile boolean closed;

    private Stdin() {}

    /** Begins to listen. Every program calls it once. */
    static void watch() {
        Thread reader = new Thread(() -> {
            try {
                while (System.in.read() >= 0) {
                    // Nothing is said, only the end counts.
                }
            } catch (IOException e) {
                // As good as its end.
            }
            closed = true;
        });
        reader.setDaemon(true);
        reader.start();
    }

    static boolean closed() {
        return closed;
    }
}
