import java.io.*;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.nio.file.*;
import java.util.*;
import java.util.concurrent.*;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs many of Apache Kafka's command-line tools in one JVM, each as if it had one
 * of its own: a call costs milliseconds instead of the start of a JVM.
 *
 * Reads calls from standard input, one a line, fields parted by \u0001: the folder
 * for the outcome, the main class, the file for standard input, the arguments.
 * Writes out, err and code into the folder, then a line to standard output.
 */
public class ToolRunner {
    /**
     * A stream that goes to the call whose thread writes, or a thread that it started;
     * log4j keeps the stream. A tool that ends by Exit inside a try never closes its
     * client there, which then logs of its broker while other calls run.
     */
    static final class Switch extends OutputStream {
        final ThreadLocal<OutputStream> to = new InheritableThreadLocal<>() {
            @Override protected OutputStream initialValue() { return OutputStream.nullOutputStream(); }
        };
        @Override public void write(int b) throws IOException { to.get().write(b); }
        @Override public void write(byte[] b, int off, int len) throws IOException { to.get().write(b, off, len); }
    }

    static volatile CompletableFuture<Integer> ended;
    static final List<Runnable> hooks = new CopyOnWriteArrayList<>();

    public static void main(String[] unused) throws Exception {
        PrintStream answers = System.out;
        Switch out = new Switch(), err = new Switch();
        BufferedReader calls = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        System.setOut(new PrintStream(out, true, StandardCharsets.UTF_8));
        System.setErr(new PrintStream(err, true, StandardCharsets.UTF_8));
        // A tool that ends never comes back from Exit, and the JVM's end runs its hooks.
        Exit.Procedure end = (code, message) -> {
            ended.complete(code);
            while (true) {
                try {
                    Thread.sleep(Long.MAX_VALUE);
                } catch (InterruptedException e) {
                    // Nobody waits for this thread.
                }
            }
        };
        Exit.setExitProcedure(end);
        Exit.setHaltProcedure(end);
        Exit.setShutdownHookAdder((name, hook) -> hooks.add(hook));

        for (String line; (line = calls.readLine()) != null; ) {
            String[] fields = line.split("\u0001", -1);
            Path dir = Path.of(fields[0]);
            ByteArrayOutputStream o = new ByteArrayOutputStream(), e = new ByteArrayOutputStream();
            out.to.set(o);
            err.to.set(e);
            System.setIn(new FileInputStream(fields[2]));
            ended = new CompletableFuture<>();
            CompletableFuture<Integer> mine = ended;
            Thread thread = new Thread(() -> run(fields[1], Arrays.copyOfRange(fields, 3, fields.length), mine), "main");
            thread.setDaemon(true);
            thread.start();
            int code;
            try {
                code = mine.get(120, TimeUnit.SECONDS);
            } catch (TimeoutException late) {
                code = 124;
            }
            for (Runnable hook : hooks)
                hook.run();
            hooks.clear();
            Files.write(dir.resolve("out"), o.toByteArray());
            Files.write(dir.resolve("err"), e.toByteArray());
            Files.writeString(dir.resolve("code"), Integer.toString(code));
            answers.println("done");
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    static void run(String name, String[] args, CompletableFuture<Integer> mine) {
        try {
            Class.forName(name).getMethod("main", String[].class).invoke(null, (Object) args);
            mine.complete(0);
        } catch (InvocationTargetException e) {
            System.err.print("Exception in thread \"main\" ");
            e.getCause().printStackTrace();
            mine.complete(1);
        } catch (ReflectiveOperationException e) {
            e.printStackTrace();
            mine.complete(125);
        }
    }
}
