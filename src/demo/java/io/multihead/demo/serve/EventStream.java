package io.multihead.demo.serve;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Server-sent events of one answer, which a separate thread writes: the generating thread never waits for a client that reads slowly, and
 * holds its session only until its text ends. An answer has a limit, and so have the events that wait here.
 */
final class EventStream {
    /** For events that a client has not read when its text is complete. */
    private static final Duration PATIENCE = Duration.ofMinutes(1);

    private static final String END = "";

    private final HttpExchange exchange;
    private final BlockingQueue<String> events = new LinkedBlockingQueue<>();
    private final Thread writer;
    private volatile boolean gone;

    /** Begins an answer. */
    EventStream(HttpExchange exchange) throws IOException {
        this.exchange = exchange;
        exchange.getResponseHeaders().set("Content-Type", "text/event-stream");
        exchange.getResponseHeaders().set("Cache-Control", "no-store");
        exchange.sendResponseHeaders(200, 0);
        writer = Thread.ofVirtual().name("serve-events").start(this::write);
    }

    /** Adds an event, if it is not empty; returns whether the client is still there. */
    boolean send(String data) {
        if (!data.isEmpty()) {
            events.add("data: " + data + "\n\n");
        }
        return !gone;
    }

    /** Ends the answer, once the client has read it. */
    void end() throws InterruptedException {
        events.add("data: [DONE]\n\n");
        events.add(END);
        if (!writer.join(PATIENCE)) {
            exchange.close(); // ends the writer, too
        }
    }

    private void write() {
        try (OutputStream out = exchange.getResponseBody()) {
            for (String event = events.take(); !event.equals(END); event = events.take()) {
                out.write(event.getBytes(StandardCharsets.UTF_8));
                if (events.isEmpty()) {
                    out.flush();
                }
            }
        } catch (IOException | InterruptedException left) {
            gone = true;
        }
    }
}
