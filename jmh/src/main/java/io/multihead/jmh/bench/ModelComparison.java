package io.multihead.jmh.bench;

import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadOptions;
import io.multihead.decoder.SessionOptions;
import io.multihead.decoder.Sessions;
import io.multihead.it.llamacpp.LlamaCpp;
import io.multihead.jmh.data.RandomDecoder;
import io.multihead.jmh.peer.LlamaProduct;
import java.io.IOException;
import java.nio.file.Path;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Param;

/**
 * A comparison of language models with random weights in this library and in llama.cpp. All impls load the same file
 * and get the same tokens.
 */
public abstract class ModelComparison extends ThreadedComparison {
    private static final int FIRST = 300;
    private static final int LAST = 31_000;
    private static final Path FILES = Path.of("jmh/target/models");

    @Param({"SMOLLM2_135M", "LLAMA3_1B"})
    public String model;

    @Param({"Q8_0", "Q4_0", "Q4_K", "Q6_K", "F16"})
    public String format;

    private Path file() throws IOException {
        return RandomDecoder.file(FILES, RandomDecoder.Model.valueOf(model), format);
    }

    final Sessions sessions(LoadOptions loading, SessionOptions options) throws IOException {
        return kept(kept(LanguageModel.load(cpu, file(), loading)).sessions(options));
    }

    final LoadOptions rounded(String impl) {
        if (!format.startsWith("Q4")) {
            throw absent(impl, "is for weights of 4 bits");
        }
        return LoadOptions.DEFAULT.withEightBitInputs(true);
    }

    final LlamaCpp llamaCpp(int positions) throws IOException {
        return kept(LlamaCpp.load(LlamaProduct.libraries(), file(), positions, threads));
    }

    /** Returns the ids of a random text. */
    static int[] ids(int count) {
        return new SplittableRandom(1).ints(count, FIRST, LAST).toArray();
    }

    /** Changes a token, so that no session begins with cached tokens of an earlier session. */
    static int[] next(int[] ids, int at) {
        ids[at] = ids[at] >= LAST ? FIRST : ids[at] + 1;
        return ids;
    }
}
