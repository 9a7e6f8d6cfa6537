import java.io.BufferedReader;
import java.io.ByteArrayOutputStream;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.reflect.InvocationTargetException;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.apache.kafka.common.utils.Exit;

/**
 * Runs Kafka's command line tools one after the other: a line on stdin is CLASS ARGUMENTS..., separated by tabs. Answers
 * with a line EXIT_CODE SIZE, and then so many bytes: what the tool printed. Its stderr goes the usual way.
 */
public class ToolHost {
    private static class Exited extends RuntimeException {
        final int code;

        Exited(int code) {
            this.code = code;
        }
    }

    public static void main(String[] arguments) throws Exception {
        PrintStream answers = System.out;
        Exit.setExitProcedure((code, message) -> {
            throw new Exited(code);
        });
        var commands = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = commands.readLine()) != null;) {
            var printed = new ByteArrayOutputStream();
            System.setOut(new PrintStream(printed, true, StandardCharsets.UTF_8));
            int code = run(line.split("\t", -1));
            answers.println(code + " " + printed.size());
            printed.writeTo(answers);
            answers.flush();
        }
        Runtime.getRuntime().halt(0);
    }

    private static int run(String[] words) throws ReflectiveOperationException {
        String[] arguments = Arrays.copyOfRange(words, 1, words.length);
        try {
            Class.forName(words[0]).getMethod("main", String[].class).invoke(null, (Object) arguments);
            return 0;
        } catch (InvocationTargetException failed) {
            if (failed.getCause() instanceof Exited exited) {
                return exited.code;
            }
            failed.getCause().printStackTrace();
            return 1;
        }
    }
}
