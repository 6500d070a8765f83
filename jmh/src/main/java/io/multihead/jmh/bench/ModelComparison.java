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
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.TearDown;

/** Language models with random weights, of one file, in this library and in llama.cpp. */
public abstract class ModelComparison extends Comparison {
    private static final Path FILES = Path.of("jmh/target/models");

    private final List<AutoCloseable> open = new ArrayList<>();

    @TearDown(Level.Trial)
    public void closeModels() throws Exception {
        for (AutoCloseable each : open.reversed()) {
            each.close();
        }
    }

    final Sessions sessions(Path file, LoadOptions loading, SessionOptions options) throws IOException {
        return kept(kept(LanguageModel.load(cpu, file, loading)).sessions(options));
    }

    final LlamaCpp llamaCpp(Path file, int positions, int threads) {
        return kept(LlamaCpp.load(LlamaProduct.libraries(), file, positions, threads));
    }

    static Path file(String model, String format) throws IOException {
        return RandomDecoder.file(FILES, RandomDecoder.Model.valueOf(model), format);
    }

    /** Returns the ids of a random text. */
    static int[] ids(int count) {
        return new SplittableRandom(1).ints(count, 300, 31_000).toArray();
    }

    final <T extends AutoCloseable> T kept(T closeable) {
        open.add(closeable);
        return closeable;
    }
}
