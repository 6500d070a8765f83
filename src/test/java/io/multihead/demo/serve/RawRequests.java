package io.multihead.demo.serve;

import io.multihead.support.Patience;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.TimeUnit;

/** Requests as bytes, which may be malformed. */
final class RawRequests {
    private RawRequests() {}

    static byte[] post(String path, String body) {
        return post(path, body.getBytes(StandardCharsets.UTF_8), body.getBytes(StandardCharsets.UTF_8).length);
    }

    /** Returns a request of HTTP 1.0, for which the answer is not in chunks. */
    static byte[] postWithoutChunks(String path, String body) {
        String request = new String(post(path, body), StandardCharsets.UTF_8);
        return request.replaceFirst("HTTP/1.1", "HTTP/1.0").getBytes(StandardCharsets.UTF_8);
    }

    /** Returns a request with a given content length, which may be wrong. */
    static byte[] post(String path, byte[] body, long claimed) {
        String head = "POST " + path + " HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\nContent-Length: " + claimed
                + "\r\n\r\n";
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        all.writeBytes(head.getBytes(StandardCharsets.ISO_8859_1));
        all.writeBytes(body);
        return all.toByteArray();
    }

    /**
     * Sends bytes with a pause at an index, and ends the output. Returns all received bytes, which are none if the
     * connection was closed.
     */
    static String send(int port, byte[] bytes, int pauseAt, int pauseMillis) throws IOException, InterruptedException {
        try (Socket socket = new Socket("127.0.0.1", port)) {
            socket.setSoTimeout((int) TimeUnit.SECONDS.toMillis(Patience.HANG_SECONDS));
            try {
                socket.getOutputStream().write(bytes, 0, pauseAt);
                socket.getOutputStream().flush();
                Thread.sleep(pauseMillis);
                socket.getOutputStream().write(bytes, pauseAt, bytes.length - pauseAt);
                socket.shutdownOutput();
            } catch (IOException answeredEarlier) {
                // a server may answer and close before it has read all bytes; the answer can still be read
            }
            return answer(socket.getInputStream());
        }
    }

    private static String answer(InputStream in) throws IOException {
        ByteArrayOutputStream all = new ByteArrayOutputStream();
        byte[] part = new byte[8192];
        try {
            for (int read = in.read(part); read >= 0; read = in.read(part)) {
                all.write(part, 0, read);
            }
        } catch (java.net.SocketTimeoutException stuck) {
            throw stuck;
        } catch (IOException closed) {
            // the bytes that were received before are returned
        }
        return all.toString(StandardCharsets.UTF_8);
    }
}
