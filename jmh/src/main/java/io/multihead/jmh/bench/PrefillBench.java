package io.multihead.jmh.bench;

import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.Session;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.it.llamacpp.LlamaCpp;
import java.io.IOException;
import java.nio.file.Path;
import org.openjdk.jmh.annotations.Param;

/** The logits after a prompt, by a language model with random weights and an f16 cache, from an empty sequence on. */
public class PrefillBench extends ModelComparison {
    @Param({"multihead", "multihead-8bit", "llamacpp"})
    public String impl;

    @Param("512")
    public int tokens;

    @Override
    String impl() {
        return impl;
    }

    @Override
    Runnable make(Path file) throws IOException {
        int[] ids = ids(tokens);
        return switch (impl) {
            case "multihead" -> own(file, ids, LoadOptions.DEFAULT);
            case "multihead-8bit" -> own(file, ids, rounded());
            case "llamacpp" -> {
                LlamaCpp loaded = llamaCpp(file, tokens);
                yield () -> {
                    loaded.clear();
                    loaded.decode(ids);
                };
            }
            default -> throw unknown(impl);
        };
    }

    private Runnable own(Path file, int[] ids, LoadOptions loading) throws IOException {
        Sessions sessions = sessions(file, loading, SessionOptions.DEFAULT.withContextTokens(tokens + 64));
        int[] prompt = ids.clone();
        return () -> {
            prompt[0] =
                    prompt[0] == 31_000 ? 300 : prompt[0] + 1; // no session may begin with what one before it has left
            try (Session session = sessions.open()) {
                session.append(prompt).nextLogits();
            }
        };
    }
}
