package io.multihead.fuzz;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Set;

/**
 * The folder of a language model in which one file has arbitrary bytes. It is refused with the name of a file, or
 * generates tokens.
 */
public final class DecoderFolderFuzz {
    /** The files in the order of their numbers. */
    static final List<String> NAMES = List.of(
            "config.json",
            "generation_config.json",
            "tokenizer_config.json",
            "chat_template.jinja",
            "tokenizer.json",
            "model.safetensors");

    private static final ModelFolder FOLDER = new ModelFolder(
            "decoder-folder",
            SmallDecoder.files(),
            NAMES,
            Set.of("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json"),
            Oracle.ALLOCATED_BY_DECODER,
            DecoderUse::run);

    private DecoderFolderFuzz() {}

    /** Loads the classes of a model before the first input, since the time of an input is limited. */
    public static void fuzzerInitialize() {
        fuzzerTestOneInput("1{}".getBytes(StandardCharsets.UTF_8));
    }

    public static void fuzzerTestOneInput(byte[] input) {
        FOLDER.check(input);
    }
}
