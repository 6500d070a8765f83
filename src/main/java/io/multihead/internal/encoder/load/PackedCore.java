package io.multihead.internal.encoder.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.EncoderFamilies;
import io.multihead.internal.encoder.family.StaticConfig;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.PackedFile;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;

/**
 * The contents that packed files of all encoders share: the model's sizes as {@code config.json}, its weights, and its tokenizer. A tensor
 * contains the bytes of the {@code tokenizer.json}, and an optional second tensor contains the bytes of a {@code tokenizer_config.json}. All
 * other settings are in an object of options.
 */
public final class PackedCore {
    private static final String CONFIG = "config";
    private static final String OPTIONS = "options";

    private PackedCore() {}

    /** Reads the parts that are specific to a kind of encoder. */
    @FunctionalInterface
    public interface Reading<T> {
        /** Reads the parts of a file, with its options. */
        T read(PackedFile file, Loading loading, JsonObject options) throws IOException;
    }

    /** Returns the contents of a file, to which other weights may be added. */
    public static PackedFile.Contents contents(
            String format, EncoderCore core, TokenizerFiles tokenizer, Map<String, Object> options) {
        return new PackedFile.Contents(format)
                .withFiles(tokenizer.tensors(core.tokenizer))
                .with(CONFIG, core.model.config.toJson())
                .with(OPTIONS, options);
    }

    public static <T> T map(Loading loading, Path path, String format, Reading<T> reading) throws IOException {
        return EncoderCore.orClose(loading::close, () -> {
            PackedFile file = PackedFile.map(path, format, loading);
            return Checks.in(path, () -> reading.read(file, loading, file.json(OPTIONS)));
        });
    }

    /** Returns the sizes of the model. */
    public static EncoderConfig config(PackedFile file) {
        JsonObject json = file.json(CONFIG);
        return StaticConfig.isOf(json) ? StaticConfig.of(json) : EncoderFamilies.configure(json);
    }

    /**
     * Takes the encoder, and its tokenizer.
     *
     * @param labels the number of labels of a cross-encoder's head, or 0
     * @param others prefixes of other weights
     */
    public static EncoderCore core(Loading loading, PackedFile file, EncoderConfig config, int labels, String... others)
            throws IOException {
        Set<String> not = new TreeSet<>(TokenizerFiles.NAMES);
        not.addAll(Arrays.asList(others));
        return ModelLoader.load(
                loading,
                () -> new EncoderModel(config, labels, file.weights(loading, "", file.names("", not))),
                () -> TokenizerFiles.read(file, config));
    }

    /** Returns the length of texts, for which the model must have positions. */
    public static int maxTokens(JsonObject options, EncoderConfig config) {
        return options.integer("max_tokens", config.isStatic() ? 1 : 3, config.positions());
    }

    /** Returns the constant that a member names. */
    public static <E extends Enum<E>> E choice(JsonObject json, String member, E[] values) {
        return choice(json, member, json.text(member), values);
    }

    public static <E extends Enum<E>> E choice(JsonObject json, String member, Object name, E[] values) {
        return Arrays.stream(values)
                .filter(value -> value.name().equals(name))
                .findFirst()
                .orElseThrow(() -> Checks.fail(
                        json.name() + "." + member,
                        String.valueOf(name),
                        "expected one of " + Arrays.toString(values)));
    }
}
