package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.Reranker;
import java.util.List;
import java.util.Set;

/** The folder of a cross-encoder in which one file has arbitrary bytes. */
public final class RerankerFilesFuzz {
    private static final Compute CPU = Compute.serial();
    /** The files in the order of their numbers. */
    static final List<String> NAMES = List.of(
            "config.json",
            "modules.json",
            "sentence_bert_config.json",
            "config_sentence_transformers.json",
            "tokenizer_config.json",
            "model.safetensors");

    private static final ModelFolder FOLDER = new ModelFolder(
            "reranker", SmallModel.rerankerFiles(), NAMES, Set.of("config.json", "modules.json"), (folder, _) -> {
                try (Reranker reranker = Reranker.load(CPU, folder)) {
                    Oracle.uncounted(() -> {
                        for (double[] scores : reranker.labelScores("ab c", List.of("", "ab, cab"))) {
                            for (double score : scores) {
                                Oracle.require(Double.isFinite(score), "score " + score);
                            }
                        }
                    });
                }
            });

    private RerankerFilesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        FOLDER.check(input);
    }
}
