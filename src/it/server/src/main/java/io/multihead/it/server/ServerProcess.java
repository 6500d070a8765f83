package io.multihead.it.server;

import java.io.BufferedReader;
import java.io.File;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.file.Path;

/** The demo's server in a process of its own. */
final class ServerProcess implements AutoCloseable {
    private final Process process;
    private final String url;

    private ServerProcess(Process process, String url) {
        this.process = process;
        this.url = url;
    }

    static ServerProcess start(Path model) throws IOException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "--add-modules",
                        "jdk.incubator.vector",
                        "-cp",
                        System.getProperty("java.class.path"),
                        "io.multihead.demo.serve.Serve",
                        "--model",
                        model.toString(),
                        "--port",
                        "0")
                .redirectOutput(new File("/dev/null"))
                .start();
        BufferedReader err = new BufferedReader(new InputStreamReader(process.getErrorStream()));
        String url = err.lines()
                .filter(line -> line.startsWith("http://"))
                .findFirst()
                .orElseThrow(() -> new IOException("the server did not start"));
        return new ServerProcess(process, url);
    }

    /** Returns where the protocol begins. */
    String url() {
        return url;
    }

    String page() {
        return url.replace("/v1", "/");
    }

    /** Ends it, which lets requests be answered; returns its exit code. */
    int stop() throws InterruptedException {
        process.destroy();
        return process.waitFor();
    }

    @Override
    public void close() {
        process.destroyForcibly();
    }
}
