package io.multihead.demo.serve;

import com.sun.net.httpserver.HttpExchange;
import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;

/**
 * Server-sent events of one answer, which a separate thread writes. The generating thread never waits for a slow
 * client, and keeps its session only until the end of its text. The size of an answer is limited, and therefore also
 * the number of waiting events.
 */
final class EventStream {
    /** The time for a client to read the remaining events of a complete text. */
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

    /** Adds an event if it is not empty. Returns whether the client is still connected. */
    boolean send(String data) {
        if (!data.isEmpty()) {
            events.add("data: " + data + "\n\n");
        }
        return !gone;
    }

    /** Ends the answer, once the client has read it; returns whether it has. */
    boolean end() throws InterruptedException {
        events.add("data: [DONE]\n\n");
        events.add(END);
        if (!writer.join(PATIENCE)) {
            exchange.close(); // ends the writer, too
            return false;
        }
        return !gone;
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
