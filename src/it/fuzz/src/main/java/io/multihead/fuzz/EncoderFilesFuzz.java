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
        if (input.length > 0) {
            Oracle.check(input.length, () -> check(input));
        }
    }

    private static void check(byte[] input) {
        String changed = NAMES.get(Math.floorMod(input[0] - '0', NAMES.size()));
        byte[] content = Arrays.copyOfRange(input, 1, input.length);
        byte[] bytes = changed.equals("model.safetensors") ? Framed.file(content) : content;
        Path file = FOLDER.resolve(changed);
        Scratch.write(file, bytes);
        try {
            // after a change of sizes or modules another file may be the one that does not fit
            boolean sizes = changed.equals("config.json") || changed.equals("modules.json");
            String name = (sizes ? FOLDER : file).toString();
            Oracle.accepts(name, () -> {
                try (SentenceEncoder encoder = SentenceEncoder.load(CPU, FOLDER)) {
                    Oracle.uncounted(() -> embed(encoder, !changed.equals("model.safetensors")));
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
