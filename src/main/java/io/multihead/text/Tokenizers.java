package io.multihead.text;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.text.SpecialIds.AddedEnds;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/** Makes the tokenizer that a model's file describes. */
public final class Tokenizers {
    private Tokenizers() {}

    /**
     * {@return the tokenizer of a GGUF file's metadata}
     *
     * @param metadata the keys {@code tokenizer.ggml.*}
     * @throws IllegalArgumentException if a key is missing, has another type or an unknown value; the message names it
     */
    public static Tokenizer of(TokenizerMetadata metadata) {
        return new GgufTokenizer(Checks.notNull(metadata, "metadata")).tokenizer();
    }

    /**
     * {@return the tokenizer of a {@code tokenizer.json} whose model is BPE}
     *
     * @param utf8 the whole file
     * @throws IllegalArgumentException if the file is malformed, or has a part that no supported model has; the message names it
     */
    public static Tokenizer ofTokenizerJson(byte[] utf8) {
        return MergesJson.parse(Checks.notNull(utf8, "utf8"), null, Set.of());
    }

    /**
     * Reads the tokenizer of a model's folder: {@code tokenizer.json}, with the tokens that {@code tokenizer_config.json} names and the
     * ends that {@code generation_config.json} has, where these exist. Where there is no {@code tokenizer.json},
     * {@code tokenizer.model}, with the first token before every text unless {@code add_bos_token} is false.
     *
     * @param folder the folder
     * @return the tokenizer
     * @throws IOException if the files cannot be read
     * @throws IllegalArgumentException if a file is malformed, or has a part that no supported model has; the message names it
     */
    public static Tokenizer load(Path folder) throws IOException {
        Path json = Checks.notNull(folder, "folder").resolve("tokenizer.json");
        JsonObject config = object(folder, "tokenizer_config.json");
        JsonObject generation = object(folder, "generation_config.json");
        Set<Integer> stops = new LinkedHashSet<>();
        if (generation != null && generation.has("eos_token_id")) {
            boolean several = generation.get("eos_token_id") instanceof List<?>;
            for (Object id : several ? generation.array("eos_token_id") : List.of(generation.get("eos_token_id"))) {
                if (!(id instanceof Long number) || number < 0 || number > Integer.MAX_VALUE) {
                    throw generation.fail("eos_token_id", "ids");
                }
                stops.add(number.intValue());
            }
        }
        if (!Files.exists(json) && Files.exists(folder.resolve("tokenizer.model"))) {
            return sentencePiece(folder.resolve("tokenizer.model"), config, stops);
        }
        return Checks.in(json, () -> MergesJson.parse(Files.readAllBytes(json), config, stops));
    }

    private static Tokenizer sentencePiece(Path file, @Nullable JsonObject config, Set<Integer> stops)
            throws IOException {
        AddedEnds added = AddedEnds.of(
                config == null || config.flag("add_bos_token", true),
                config != null && config.flag("add_eos_token", false));
        return Checks.in(file, () -> SentencePieceModel.parse(Files.readAllBytes(file), added, stops));
    }

    /**
     * {@return the tokenizer of SentencePiece's {@code tokenizer.model} whose model is BPE, which adds no tokens to a text}
     *
     * @param file the whole file, a protocol buffer
     * @throws IllegalArgumentException if the file is malformed, has another model, or normalises text; the message names it
     */
    public static Tokenizer ofSentencePieceModel(byte[] file) {
        return SentencePieceModel.parse(Checks.notNull(file, "file"), AddedEnds.NEITHER, Set.of());
    }

    private static @Nullable JsonObject object(Path folder, String name) throws IOException {
        Path file = folder.resolve(name);
        return Files.exists(file)
                ? Checks.in(file, () -> new JsonObject(name, Json.object(name, Files.readAllBytes(file))))
                : null;
    }
}
