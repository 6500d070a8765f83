package io.multihead.it.spark;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.jar.JarEntry;
import java.util.jar.JarOutputStream;
import java.util.stream.Stream;
import org.apache.spark.sql.SparkSession;

/**
 * An installation of Spark from the jars of the class path, in the folder of the environment variable SPARK_HOME, and
 * the jars that {@code spark-submit --jars} would send to executors: the jar of the library, and a jar of this
 * project's classes.
 */
final class SparkHome {
    /**
     * The seconds without a heartbeat. A busy machine may stop all processes for longer than the default of 60 seconds.
     */
    static final int WORKER_TIMEOUT = 300;

    private static final String MULTIHEAD = "multihead-";
    private static final String TARGET = new File("target").getAbsolutePath();

    /** The folder of temporary files, in which Spark leaves archives and native libraries. */
    static final String TEMPORARY = "-Djava.io.tmpdir=" + TARGET;

    private SparkHome() {}

    /** Returns the session of a driver without a master. Executors use the Java of this JVM. */
    static SparkSession.Builder session() throws IOException {
        List<String> jars = prepare();
        return SparkSession.builder()
                .appName("multihead")
                .config("spark.jars", String.join(",", jars))
                .config("spark.executorEnv.JAVA_HOME", System.getProperty("java.home"))
                .config("spark.executor.extraJavaOptions", TEMPORARY)
                .config("spark.driver.host", "127.0.0.1")
                .config("spark.driver.bindAddress", "127.0.0.1")
                .config("spark.ui.enabled", "false")
                .config("spark.worker.timeout", WORKER_TIMEOUT)
                .config("spark.network.timeout", WORKER_TIMEOUT + "s")
                .config("spark.sql.shuffle.partitions", "4")
                .config("spark.sql.warehouse.dir", TARGET + "/warehouse")
                .config("spark.local.dir", TARGET + "/spark-local");
    }

    /** Writes the folder, and returns the jars of the application. */
    private static List<String> prepare() throws IOException {
        Path home = Path.of(System.getenv("SPARK_HOME"));
        Path jars = Files.createDirectories(home.resolve("jars"));
        empty(jars);
        Files.write(home.resolve("RELEASE"), new byte[0]);
        List<String> application = new ArrayList<>();
        List<Path> classes = new ArrayList<>();
        for (String entry : System.getProperty("java.class.path").split(File.pathSeparator)) {
            Path path = Path.of(entry).toAbsolutePath();
            String name = path.getFileName().toString();
            if (Files.isDirectory(path)) {
                classes.add(path);
            } else if (name.startsWith(MULTIHEAD)) {
                application.add(path.toString());
            } else if (name.endsWith(".jar") && !name.contains("junit") && !name.contains("langchain4j")) {
                Files.createSymbolicLink(jars.resolve(name), path);
            }
        }
        application.add(jarOf(classes).toString());
        return application;
    }

    /** Removes files that an earlier run with other versions may have left. */
    private static void empty(Path folder) throws IOException {
        try (Stream<Path> files = Files.list(folder)) {
            for (Path file : files.toList()) {
                Files.delete(file);
            }
        }
    }

    private static Path jarOf(List<Path> folders) throws IOException {
        Path jar = Path.of(TARGET, "application.jar");
        try (OutputStream out = Files.newOutputStream(jar);
                JarOutputStream entries = new JarOutputStream(out)) {
            for (Path folder : folders) {
                try (Stream<Path> files = Files.walk(folder)) {
                    for (Path file : files.filter(Files::isRegularFile).toList()) {
                        entries.putNextEntry(
                                new JarEntry(folder.relativize(file).toString().replace('\\', '/')));
                        Files.copy(file, entries);
                        entries.closeEntry();
                    }
                }
            }
        }
        return jar;
    }
}
