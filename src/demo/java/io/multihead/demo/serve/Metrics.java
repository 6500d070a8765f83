package io.multihead.demo.serve;

import io.multihead.decoder.PrefixReuse;
import io.multihead.decoder.Sessions;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.atomic.DoubleAdder;
import java.util.concurrent.atomic.LongAdder;
import org.jspecify.annotations.Nullable;

/** Counts of a server, in the text format of Prometheus. Thread-safe. */
final class Metrics {
    /** The status of a request whose client did not read the answer, as nginx has it. */
    static final int CLIENT_LEFT = 499;

    private final Map<String, LongAdder> requests = new ConcurrentSkipListMap<>();
    private final LongAdder promptTokens = new LongAdder();
    private final LongAdder generatedTokens = new LongAdder();
    private final LongAdder firstTokens = new LongAdder();
    private final DoubleAdder firstSeconds = new DoubleAdder();
    private final LongAdder nextTokens = new LongAdder();
    private final DoubleAdder nextSeconds = new DoubleAdder();

    /** Counts a request, which has one status: once its answer is sent, or cannot be. */
    void request(String path, int status) {
        requests.computeIfAbsent("path=\"" + path + "\",status=\"" + status + "\"", key -> new LongAdder())
                .increment();
    }

    void firstToken(double seconds) {
        firstTokens.increment();
        firstSeconds.add(seconds);
    }

    void text(int prompt, int generated, double secondsAfterFirst) {
        promptTokens.add(prompt);
        generatedTokens.add(generated);
        nextTokens.add(Math.max(0, generated - 1));
        nextSeconds.add(secondsAfterFirst);
    }

    /**
     * Returns all counts.
     *
     * @param running requests that generate
     * @param waiting requests that wait for a running request
     */
    String text(int running, int waiting, @Nullable Sessions sessions) {
        StringBuilder text = new StringBuilder("# TYPE multihead_requests_total counter\n");
        requests.forEach((labels, count) -> line(text, "multihead_requests_total{%s} %d\n", labels, count.sum()));
        value(text, "running_requests", "gauge", running);
        value(text, "waiting_requests", "gauge", waiting);
        value(text, "prompt_tokens_total", "counter", promptTokens.sum());
        value(text, "generated_tokens_total", "counter", generatedTokens.sum());
        summary(text, "time_to_first_token_seconds", firstSeconds.sum(), firstTokens.sum());
        summary(text, "time_between_tokens_seconds", nextSeconds.sum(), nextTokens.sum());
        if (sessions != null) {
            PrefixReuse reuse = sessions.prefixReuse();
            value(text, "cache_used_bytes", "gauge", sessions.usedBytes());
            value(text, "prefix_hits_total", "counter", reuse.hits());
            value(text, "prefix_saved_tokens_total", "counter", reuse.savedTokens());
        }
        return text.toString();
    }

    private static void value(StringBuilder text, String name, String type, long value) {
        line(text, "# TYPE multihead_%s %s\nmultihead_%s %d\n", name, type, name, value);
    }

    private static void summary(StringBuilder text, String name, double sum, long count) {
        line(
                text,
                "# TYPE multihead_%1$s summary\nmultihead_%1$s_sum %2$.6f\nmultihead_%1$s_count %3$d\n",
                name,
                sum,
                count);
    }

    /** Adds a line with ASCII digits, which Prometheus reads, for any language of the machine. */
    private static void line(StringBuilder text, String format, Object... values) {
        text.append(String.format(Locale.ROOT, format, values));
    }
}
