package io.multihead.it.server;

import java.io.BufferedInputStream;
import java.io.ByteArrayOutputStream;
import java.io.Closeable;
import java.io.IOException;
import java.io.InputStream;
import java.net.InetAddress;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.Locale;

/**
 * A connection that remains open for many sequential requests. It takes little time of the client, so that a
 * measurement shows the time of the server.
 */
final class Connection implements Closeable {
    private final Socket socket;
    private final InputStream in;

    Connection(int port) throws IOException {
        socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setTcpNoDelay(true);
        in = new BufferedInputStream(socket.getInputStream());
    }

    /** An answer. */
    record Answer(int status, String body) {}

    /** Sends a request and reads its whole answer. */
    Answer post(String path, String body) throws IOException {
        send(path, body);
        int status = Integer.parseInt(line().split(" ")[1]);
        int length = -1;
        for (String line = line(); !line.isEmpty(); line = line()) {
            if (line.toLowerCase(Locale.ROOT).startsWith("content-length:")) {
                length = Integer.parseInt(
                        line.substring("content-length:".length()).trim());
            }
        }
        return new Answer(status, length < 0 ? "" : new String(in.readNBytes(length), StandardCharsets.UTF_8));
    }

    /** Sends a request for a stream, and returns after its first event. */
    void awaitFirstEvent(String path, String body) throws IOException {
        send(path, body);
        for (String line = line(); !line.startsWith("data: "); line = line()) {
            if (line.startsWith("HTTP/1.1 ") && !line.startsWith("HTTP/1.1 200")) {
                throw new IOException(line);
            }
        }
    }

    private void send(String path, String body) throws IOException {
        byte[] bytes = body.getBytes(StandardCharsets.UTF_8);
        String head = "POST " + path + " HTTP/1.1\r\nHost: localhost\r\nContent-Length: " + bytes.length + "\r\n\r\n";
        ByteArrayOutputStream request = new ByteArrayOutputStream();
        request.writeBytes(head.getBytes(StandardCharsets.US_ASCII));
        request.writeBytes(bytes);
        socket.getOutputStream().write(request.toByteArray());
    }

    private String line() throws IOException {
        ByteArrayOutputStream line = new ByteArrayOutputStream();
        for (int next = in.read(); next != '\n'; next = in.read()) {
            if (next < 0) {
                throw new IOException("the server closed the connection");
            }
            line.write(next);
        }
        return line.toString(StandardCharsets.UTF_8).stripTrailing();
    }

    @Override
    public void close() throws IOException {
        socket.close();
    }
}
