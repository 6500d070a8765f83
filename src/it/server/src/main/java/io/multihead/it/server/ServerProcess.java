package io.multihead.it.server;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;

/** The demo's server in a separate process. */
final class ServerProcess implements AutoCloseable {
    private final Process process;
    private final String url;

    private ServerProcess(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    /**
     * Starts a server on a free port.
     *
     * @param options additional options of {@code Serve}
     */
    static ServerProcess start(Path model, String... options) throws IOException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx256m",
                "--add-modules",
                "jdk.incubator.vector",
                "-cp",
                System.getProperty("java.class.path"),
                "io.multihead.demo.serve.Serve",
                "--model",
                model.toString(),
                "--port",
                "0"));
        command.addAll(List.of(options));
        Process process = new ProcessBuilder(command)
                .redirectOutput(new File("/dev/null"))
                .start();
        BufferedReader err = new BufferedReader(new InputStreamReader(process.getErrorStream()));
        String url = err.lines()
                .filter(line -> line.startsWith("http://"))
                .findFirst()
                .orElseThrow(() -> new IOException("the server did not start"));
        return new ServerProcess(process, url);
    }

    /** Returns the base URL of the protocol. */
    String url() {
        return url;
    }

    String page() {
        return url.replace("/v1", "/");
    }

    int port() {
        return URI.create(url).getPort();
    }

    /** Returns the resident memory of the server in MiB, if Linux reports it. */
    long residentMemory() throws IOException {
        return Files.readAllLines(Path.of("/proc", String.valueOf(process.pid()), "status")).stream()
                .filter(line -> line.startsWith("VmRSS:"))
                .mapToLong(line -> Long.parseLong(line.replaceAll("[^0-9]", "")) >> 10)
                .findFirst()
                .orElse(0);
    }

    /** Ends the server after it has answered running requests. Returns its exit code. */
    int stop() throws InterruptedException {
        process.destroy();
        return process.waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
