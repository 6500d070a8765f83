package io.multihead.it.spark;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/** A standalone master and a worker with two cores on the loopback address, each a separate process. */
final class Processes implements AutoCloseable {
    private static final Pattern STARTED = Pattern.compile("Starting Spark master at (spark://127\\.0\\.0\\.1:\\d+)");
    private static final int SECONDS = 120;
    private static final int SECONDS_TO_STOP = 10;

    private final List<Process> processes = new ArrayList<>();
    private final Path folder;
    private final String master;

    Processes(Path folder) throws IOException {
        this.folder = folder;
        try {
            Path log = start("master", "--host", "127.0.0.1", "--port", "0", "--webui-port", "0");
            master = find(STARTED, log);
            Path worker = start(
                    "worker",
                    "--host",
                    "127.0.0.1",
                    "--webui-port",
                    "0",
                    "--cores",
                    "2",
                    "--memory",
                    "2g",
                    "--work-dir",
                    folder.resolve("work").toString(),
                    master);
            find(Pattern.compile("(Successfully registered with master)"), worker);
        } catch (IOException | RuntimeException e) {
            close();
            throw e;
        }
    }

    String master() {
        return master;
    }

    private Path start(String role, String... arguments) throws IOException {
        String name = Character.toUpperCase(role.charAt(0)) + role.substring(1);
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx512m",
                SparkHome.TEMPORARY,
                "-Dspark.worker.timeout=" + SparkHome.WORKER_TIMEOUT,
                "-cp",
                System.getenv("SPARK_HOME") + "/jars/*",
                "org.apache.spark.deploy." + role + "." + name));
        command.addAll(List.of(arguments));
        Path log = folder.resolve(role + ".log");
        processes.add(new ProcessBuilder(command)
                .redirectErrorStream(true)
                .redirectOutput(log.toFile())
                .start());
        return log;
    }

    private static String find(Pattern pattern, Path log) throws IOException {
        for (int tries = 0; tries < SECONDS * 10; tries++) {
            Matcher found = pattern.matcher(Files.readString(log));
            if (found.find()) {
                return found.group(1);
            }
            try {
                Thread.sleep(100);
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new IllegalStateException(e);
            }
        }
        throw new IllegalStateException(
                "log: no '" + pattern + "' after " + SECONDS + " s; expected it in\n" + Files.readString(log));
    }

    @Override
    public void close() {
        // the worker first, since it would search its master
        for (int i = processes.size() - 1; i >= 0; i--) {
            Process process = processes.get(i);
            // the executors of a worker are listed while it is their parent
            List<ProcessHandle> all = new ArrayList<>(process.descendants().toList());
            all.add(process.toHandle());
            process.destroy();
            process.onExit()
                    .completeOnTimeout(process, SECONDS_TO_STOP, TimeUnit.SECONDS)
                    .join();
            all.forEach(ProcessHandle::destroyForcibly);
            process.onExit().join();
        }
    }
}
