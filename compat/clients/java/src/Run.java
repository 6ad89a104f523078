import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.function.BooleanSupplier;

/** One script's run, and the program that runs the chosen ones. */
public final class Run {
    /** A script that is not done by then has failed, and says what it waited for. */
    static final int LIMIT_SECONDS = 60;

    /** A script. */
    interface Script {
        void run(Run run, String bootstrap) throws Exception;
    }

    /** A script saw something else than it must. */
    static final class Failure extends RuntimeException {
        Failure(String message) {
            super(message);
        }
    }

    /** The client has not what the script is about. */
    static final class NotApplicable extends RuntimeException {
        NotApplicable(String reason) {
            super(reason);
        }
    }

    final String id = UUID.randomUUID().toString().replace("-", "").substring(0, 10);
    final boolean corrupt;
    final java.util.List<String> without = new java.util.ArrayList<>();
    volatile String waitsFor = "a first answer";

    private Run(boolean corrupt) {
        this.corrupt = corrupt;
    }

    String name(String what) {
        return "clients-" + id + "-" + what;
    }

    /** Fails unless got equals want. A corrupt run compares with another value, to show
     * that the comparison is one. */
    void same(String what, Object got, Object want) {
        if (corrupt) {
            want = "not " + text(want);
        }
        boolean equal = got instanceof byte[] && want instanceof byte[]
            ? Arrays.equals((byte[]) got, (byte[]) want) : Objects.equals(got, want);
        if (!equal) {
            throw new Failure(what + ": got " + text(got) + ", want " + text(want));
        }
    }

    /** Looks until done says that it is. */
    void until(String what, int seconds, BooleanSupplier done) throws InterruptedException {
        waitsFor = what;
        for (long end = System.nanoTime() + seconds * 1_000_000_000L; !done.getAsBoolean(); Thread.sleep(20)) {
            if (System.nanoTime() > end) {
                throw new Failure("waited " + seconds + " s for " + what);
            }
        }
    }

    static String text(Object value) {
        String text = value instanceof byte[] ? Arrays.toString((byte[]) value) : String.valueOf(value);
        return text.length() <= 200 ? text : text.substring(0, 180) + "... (" + text.length() + " characters)";
    }

    private static String quoted(String text) {
        StringBuilder out = new StringBuilder("\"");
        for (char c : text.toCharArray()) {
            if (c == '"' || c == '\\') {
                out.append('\\').append(c);
            } else if (c < ' ') {
                out.append(String.format("\\u%04x", (int) c));
            } else {
                out.append(c);
            }
        }
        return out.append('"').toString();
    }

    private static String one(String name, Script script, String bootstrap, boolean corrupt) throws InterruptedException {
        Run run = new Run(corrupt);
        Map<String, String> outcome = new java.util.concurrent.ConcurrentHashMap<>();
        long begin = System.nanoTime();
        Thread thread = new Thread(() -> {
            try {
                script.run(run, bootstrap);
                outcome.put("ok", "true");
            } catch (NotApplicable e) {
                outcome.put("not_applicable", quoted(e.getMessage()));
            } catch (Throwable e) { // Whatever it is, it is the script's result.
                Throwable cause = e instanceof ExecutionException && e.getCause() != null ? e.getCause() : e;
                String kind = cause instanceof Failure ? "" : cause.getClass().getSimpleName() + ": ";
                outcome.put("error", quoted(kind + cause.getMessage() + " (last waited for " + run.waitsFor + ")"));
            }
        });
        thread.setDaemon(true);
        thread.start();
        thread.join(LIMIT_SECONDS * 1000L);
        if (outcome.isEmpty()) {
            outcome.put("error", quoted("not done after " + LIMIT_SECONDS + " s: waited for " + run.waitsFor));
        }
        Map<String, String> line = new LinkedHashMap<>();
        line.put("script", quoted(name));
        line.put("ok", "false");
        line.putAll(outcome);
        line.put("seconds", String.format(java.util.Locale.ROOT, "%.2f", (System.nanoTime() - begin) / 1e9));
        if (!run.without.isEmpty()) {
            line.put("without", run.without.stream().map(Run::quoted).toList().toString());
        }
        List<String> fields = line.entrySet().stream().map(e -> quoted(e.getKey()) + ":" + e.getValue()).toList();
        return "{" + String.join(",", fields) + "}";
    }

    static void main(String[] args, Map<String, Script> scripts) throws Exception {
        String bootstrap = null;
        String chosen = "all";
        boolean corrupt = false;
        for (int i = 0; i < args.length; i++) {
            switch (args[i]) {
                case "--bootstrap" -> bootstrap = args[++i];
                case "--script" -> chosen = args[++i];
                case "--corrupt" -> corrupt = true; // Every script must fail.
                default -> bootstrap = null;
            }
        }
        if (bootstrap == null || !chosen.equals("all") && !scripts.containsKey(chosen)) {
            System.err.println("usage: run --bootstrap HOST:PORT [--script all|" + String.join("|", scripts.keySet()) + "]");
            System.exit(2);
        }
        for (Map.Entry<String, Script> script : scripts.entrySet()) {
            if (chosen.equals("all") || chosen.equals(script.getKey())) {
                System.out.println(one(script.getKey(), script.getValue(), bootstrap, corrupt));
            }
        }
        System.out.flush();
        System.exit(0); // A script that hangs has threads that would stay.
    }
}
