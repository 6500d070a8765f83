package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.util.List;
import java.util.Set;

/** The folder of an encoder in which one file has arbitrary bytes. */
public final class EncoderFilesFuzz {
    private static final Compute CPU = Compute.serial();
    /** The files in the order of their numbers. */
    static final List<String> NAMES = List.of(
            "config.json",
            "modules.json",
            "1_Pooling/config.json",
            "sentence_bert_config.json",
            "config_sentence_transformers.json",
            "model.safetensors");

    private static final ModelFolder FOLDER = new ModelFolder(
            "encoder", SmallModel.files(), NAMES, Set.of("config.json", "modules.json"), (folder, _) -> {
                try (SentenceEncoder encoder = SentenceEncoder.load(CPU, folder)) {
                    Oracle.uncounted(() -> embed(encoder));
                }
            });

    private EncoderFilesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        FOLDER.check(input);
    }

    private static void embed(SentenceEncoder encoder) {
        for (SentenceEncoder each : List.of(encoder, encoder.forQueries(), encoder.forDocuments())) {
            for (String text : List.of("", "ab c, de")) {
                for (float x : each.embed(text)) {
                    Oracle.require(Float.isFinite(x), "element " + x);
                }
            }
        }
    }
}
