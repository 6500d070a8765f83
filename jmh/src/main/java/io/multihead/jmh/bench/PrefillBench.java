package io.multihead.jmh.bench;

import io.multihead.compute.Compute;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.it.llamacpp.LlamaCpp;
import io.multihead.jmh.peer.Peer;
import java.io.IOException;
import java.nio.file.Path;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Setup;

/** The logits after a prompt, by a language model with random weights and an f16 cache, from an empty sequence on. */
public class PrefillBench extends ModelComparison {
    @Param({"multihead", "multihead-8bit", "llamacpp"})
    public String impl;

    @Param({"SMOLLM2_135M", "LLAMA3_1B"})
    public String model;

    @Param({"Q8_0", "Q4_0", "Q4_K", "Q6_K", "F16"})
    public String format;

    @Param("512")
    public int tokens;

    @Param({"1", "2"})
    public int threads;

    @Setup(Level.Trial)
    public void open() {
        cpu = Compute.threads(threads);
        load(impl, this::make);
    }

    @Benchmark
    public void prefill() {
        call.run();
    }

    private Runnable make() throws IOException {
        Path file = file(model, format);
        int[] ids = ids(tokens);
        return switch (impl) {
            case "multihead" -> own(file, ids, LoadOptions.DEFAULT);
            case "multihead-8bit" -> own(file, ids, DecoderBench.rounded(format));
            case "llamacpp" -> {
                LlamaCpp loaded = llamaCpp(file, tokens, threads);
                yield () -> {
                    loaded.clear();
                    loaded.decode(ids);
                };
            }
            default -> throw Peer.unknown(impl);
        };
    }

    private Runnable own(Path file, int[] ids, LoadOptions loading) throws IOException {
        Sessions sessions = sessions(file, loading, SessionOptions.DEFAULT.withContextTokens(tokens + 64));
        return () -> {
            try (Session session = sessions.open()) {
                session.append(ids).nextLogits();
            }
        };
    }
}
