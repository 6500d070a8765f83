package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.TokenEncoder;
import io.multihead.encoder.TokenVectors;
import java.util.List;
import java.util.Set;

/** The folder of a token encoder in which one file has arbitrary bytes. */
public final class TokenEncoderFilesFuzz {
    private static final Compute CPU = Compute.serial();
    /** The files in the order of their numbers. */
    static final List<String> NAMES = List.of(
            "config.json",
            "modules.json",
            "1_Dense/config.json",
            "config_sentence_transformers.json",
            "1_Dense/model.safetensors");

    private static final ModelFolder FOLDER = new ModelFolder(
            "tokens", SmallModel.tokenEncoderFiles(), NAMES, Set.copyOf(NAMES.subList(0, 4)), (folder, _) -> {
                try (TokenEncoder encoder = TokenEncoder.load(CPU, folder)) {
                    Oracle.uncounted(() -> {
                        TokenVectors documents = encoder.embedDocuments(List.of("", "ab, cab"));
                        for (float score : encoder.score("ab c", documents)) {
                            Oracle.require(Float.isFinite(score), "score " + score);
                        }
                    });
                }
            });

    private TokenEncoderFilesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        FOLDER.check(input);
    }
}
