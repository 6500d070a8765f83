package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.TokenEncoder;
import io.multihead.encoder.TokenVectors;
import java.util.List;
import java.util.Set;

/** A folder of an encoder of tokens, of which one file has any bytes. */
public final class TokenEncoderFilesFuzz {
    private static final Compute CPU = Compute.serial();
    /** In the order of the numbers. */
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
