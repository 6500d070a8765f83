package io.multihead.jmh.bench;

import io.multihead.decoder.GenerationOptions;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.it.llamacpp.LlamaCpp;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import org.openjdk.jmh.annotations.Param;

/**
 * One decode step of a language model with random weights, from the previous token to the next id: products, attention
 * over {@code depth} tokens in an f16 cache, and the choice of the largest logit. {@code multihead-batch8} is a step of
 * eight sessions, and {@code multihead-8bit} is a step in which 4-bit weights have 8-bit inputs. The sequence of
 * llama.cpp grows by one token per call. The sequence of this library has the same depth in all calls.
 * {@code QWEN3_30B_A3B} has experts, and takes ten gigabytes in Q8_0.
 */
public class DecoderBench extends ModelComparison {
    private static final int MOST_STEPS = 4096;
    private static final int BATCH = 8;

    @Param({"multihead", "multihead-8bit", "multihead-batch8", "llamacpp"})
    public String impl;

    @Param({"128", "4096"})
    public int depth;

    @Override
    void open() {
        int[] ids = ids(depth);
        load(impl, () -> switch (impl) {
            case "multihead" -> own(ids, 1, LoadOptions.DEFAULT);
            case "multihead-8bit" -> own(ids, 1, rounded(impl));
            case "multihead-batch8" -> own(ids, BATCH, LoadOptions.DEFAULT);
            case "llamacpp" -> llamaCpp(ids);
            default -> throw unknown(impl);
        });
    }

    private Runnable own(int[] ids, int count, LoadOptions options) throws IOException {
        SessionOptions room =
                SessionOptions.DEFAULT.withContextTokens(depth + 64).withSessions(count);
        Sessions sessions = sessions(options, room);
        List<Session> all = new ArrayList<>();
        List<GenerationOptions> one = new ArrayList<>();
        for (int i = 0; i < count; i++) {
            all.add(kept(sessions.open().append(ids)));
            one.add(GenerationOptions.DEFAULT.withMaxTokens(1));
        }
        return () -> {
            all.forEach(session -> session.truncate(depth));
            sessions.generate(all, one);
        };
    }

    private Runnable llamaCpp(int[] ids) throws IOException {
        LlamaCpp loaded = llamaCpp(depth + MOST_STEPS);
        loaded.decode(ids);
        int[] next = {depth};
        return () -> {
            if (next[0] == depth + MOST_STEPS) {
                throw new UncheckedIOException(new IOException("more than " + MOST_STEPS + " steps"));
            }
            loaded.decode(300 + next[0]++ % 30_000);
        };
    }
}
