package io.multihead.jmh.bench;

import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.it.llamacpp.LlamaCpp;
import java.io.IOException;
import org.openjdk.jmh.annotations.Param;

/** The logits after a prompt, which begins a sequence, in a language model with random weights and an f16 cache. */
public class PrefillBench extends ModelComparison {
    @Param({"multihead", "multihead-8bit", "llamacpp"})
    public String impl;

    @Param("512")
    public int tokens;

    @Override
    void open() {
        int[] ids = ids(tokens);
        load(impl, () -> switch (impl) {
            case "multihead" -> own(ids, LoadOptions.DEFAULT);
            case "multihead-8bit" -> own(ids, rounded(impl));
            case "llamacpp" -> {
                LlamaCpp loaded = llamaCpp(tokens);
                yield () -> {
                    loaded.clear();
                    loaded.decode(ids);
                };
            }
            default -> throw unknown(impl);
        });
    }

    private Runnable own(int[] ids, LoadOptions loading) throws IOException {
        Sessions sessions = sessions(loading, SessionOptions.DEFAULT.withContextTokens(tokens + 64));
        int[] prompt = ids.clone();
        return () -> {
            try (Session session = sessions.open()) {
                session.append(next(prompt, 0)).nextLogits();
            }
        };
    }
}
