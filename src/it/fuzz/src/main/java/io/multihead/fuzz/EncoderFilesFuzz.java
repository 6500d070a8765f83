package io.multihead.fuzz;

import io.multihead.compute.Compute;
import io.multihead.encoder.SentenceEncoder;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;

/** A model's folder of which one file has any bytes: the input's first byte, from '0' on, says which one. */
public final class EncoderFilesFuzz {
    private static final Compute CPU = Compute.serial();
    private static final Path FOLDER = Scratch.folder("encoder");
    private static final Map<String, byte[]> FILES = SmallModel.files();
    /** In the order of the numbers. */
    static final List<String> NAMES = List.of(
            "config.json",
            "modules.json",
            "1_Pooling/config.json",
            "sentence_bert_config.json",
            "config_sentence_transformers.json",
            "model.safetensors");

    static {
        FILES.forEach((name, bytes) -> Scratch.write(FOLDER.resolve(name), bytes));
    }

    private EncoderFilesFuzz() {}

    public static void fuzzerTestOneInput(byte[] input) {
        if (input.length == 0) {
            return;
        }
        String changed = NAMES.get(Math.floorMod(input[0] - '0', NAMES.size()));
        byte[] bytes = Arrays.copyOfRange(input, 1, input.length);
        Path file = FOLDER.resolve(changed);
        Scratch.write(file, bytes);
        try {
            // a change of modules.json may make another file the one that is wrong
            String name = changed.equals("modules.json") ? FOLDER.toString() : file.toString();
            Oracle.accepts(bytes.length, name, () -> {
                try (SentenceEncoder encoder = SentenceEncoder.load(CPU, FOLDER)) {
                    embed(encoder, !changed.equals("model.safetensors"));
                }
            });
        } finally {
            Scratch.write(file, FILES.get(changed));
        }
    }

    private static void embed(SentenceEncoder encoder, boolean finiteWeights) {
        for (SentenceEncoder each : List.of(encoder, encoder.forQueries(), encoder.forDocuments())) {
            for (String text : List.of("", "ab c, de")) {
                for (float x : each.embed(text)) {
                    Oracle.require(!finiteWeights || Float.isFinite(x), "element " + x);
                }
            }
        }
    }
}
