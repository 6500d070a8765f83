package io.multihead.text;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.Downloads;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.base.Json;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.text.wordpiece.PairTemplate;
import io.multihead.internal.text.wordpiece.WordPieceFiles;
import io.multihead.text.SpecialIds.AddedSpecialTokens;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.OptionalInt;
import java.util.Set;
import org.jspecify.annotations.Nullable;

/**
 * Makes the tokenizer that a model's files describe.
 *
 * <table>
 * <caption>Which method</caption>
 * <tr><th>read from</th><th>of a language model: {@link Tokenizer}</th><th>of an encoder: {@link EncoderTokenizer}</th></tr>
 * <tr><td>a folder</td><td>{@link #load}</td><td>{@link #loadEncoder}</td></tr>
 * <tr><td>a GGUF file</td><td>{@link #of}</td><td>{@link #ofEncoder}</td></tr>
 * <tr><td>{@code tokenizer.json}</td><td>{@link #ofJson}</td><td>{@link #ofEncoderJson(byte[])}, of static embeddings
 * {@link #ofStaticJson}</td></tr>
 * <tr><td>{@code tokenizer.model}</td><td>{@link #ofSentencePieceModel}</td><td></td></tr>
 * </table>
 */
public final class Tokenizers {
    private static final String ENDS = "eos_token_id";
    private static final String CONFIG = "tokenizer_config";

    private Tokenizers() {}

    /**
     * {@return the tokenizer of a language model's GGUF file, by the keys {@code tokenizer.ggml.*}}
     *
     * @param file the file, which may be unmapped after the call
     * @throws IllegalArgumentException if a key is missing, has another type or an unknown value; the message names it
     */
    public static Tokenizer of(Gguf file) {
        return new GgufTokenizer(Checks.notNull(file, "file")).tokenizer();
    }

    /**
     * {@return the tokenizer of an encoder's GGUF file, by the keys {@code tokenizer.ggml.*}: WordPiece ({@code bert}), byte pairs
     * ({@code gpt2}) or Unigram ({@code t5})}
     *
     * <p>Text is in lower case without accents unless {@code normalizer.lowercase} and {@code normalizer.strip_accents} set something else. Files
     * of ModernBERT ({@code modern-bert}) compose characters (NFC), as its {@code tokenizer.json} does.
     *
     * @param file the file, which may be unmapped after the call
     * @throws IllegalArgumentException if a key is missing, has another type or an unknown value; the message names it
     */
    public static EncoderTokenizer ofEncoder(Gguf file) {
        return new GgufEncoderTokenizer(Checks.notNull(file, "file")).tokenizer();
    }

    /**
     * {@return the tokenizer of a {@code tokenizer.json} whose model is BPE or Unigram}
     *
     * @param utf8 the whole file
     * @throws IllegalArgumentException if the file is malformed, or has a part that no supported model has; the message names it
     */
    public static Tokenizer ofJson(byte[] utf8) {
        return json(utf8).tokenizer(null, Set.of());
    }

    /**
     * {@return the tokenizer of an encoder's {@code tokenizer.json} whose model is WordPiece, Unigram or BPE over bytes}
     *
     * <p>Padding of the file, which is on the right, is not applied. Its truncation is reported ({@link
     * EncoderTokenizer#truncation}).
     *
     * @param utf8 the whole file
     * @throws IllegalArgumentException if the file is malformed or has an unsupported setting; the message names it
     */
    public static EncoderTokenizer ofEncoderJson(byte[] utf8) {
        return json(utf8).encoder(null);
    }

    /**
     * {@return the tokenizer of an encoder's {@code tokenizer.json} whose model is Unigram or BPE over bytes, with the settings of a {@code tokenizer_config.json}}
     *
     * @param utf8 the whole {@code tokenizer.json}
     * @param config the whole {@code tokenizer_config.json}
     * @throws IllegalArgumentException if a file is malformed or has an unsupported setting; the message names it
     */
    public static EncoderTokenizer ofEncoderJson(byte[] utf8, byte[] config) {
        TokenizerJson file = json(utf8);
        if (file.isWordPiece()) {
            throw file.fail("Unigram or BPE, as more files of its folder count for WordPiece");
        }
        return file.encoder(new JsonObject(CONFIG, Json.object(CONFIG, Checks.notNull(config, "config"))));
    }

    /**
     * {@return the tokenizer of a {@code tokenizer.json} for static embeddings: it puts no special tokens around a text, even if the file has a
     * template for them. Its model is WordPiece, Unigram or BPE over bytes}
     *
     * @param utf8 the whole file
     * @param leavesUnknownOut whether unknown tokens, except Unigram's, are removed from texts and from ids, as in model2vec's {@code
     *     StaticModel.tokenize}
     * @throws IllegalArgumentException if the file is malformed or has an unsupported setting; the message names it
     */
    public static EncoderTokenizer ofStaticJson(byte[] utf8, boolean leavesUnknownOut) {
        return json(utf8).withoutSpecialTokens(leavesUnknownOut);
    }

    /**
     * {@return the tokenizer of SentencePiece's {@code tokenizer.model} whose model is BPE or Unigram, which adds no tokens to a text}
     *
     * @param file the whole file, a protocol buffer
     * @throws IllegalArgumentException if the file is malformed, has another model, or is a BPE model that normalizes text; the message
     *     names it
     */
    public static Tokenizer ofSentencePieceModel(byte[] file) {
        return SentencePieceModel.parse(Checks.notNull(file, "file"), AddedSpecialTokens.NEITHER, Set.of());
    }

    /**
     * Reads the tokenizer of a model's folder: {@code tokenizer.json}, with the tokens that {@code tokenizer_config.json} names and the
     * end tokens of {@code generation_config.json}, or else of {@code config.json}, if these files exist. Without a {@code
     * tokenizer.json}, it reads {@code tokenizer.model}, with the first token before every text unless {@code add_bos_token} is false.
     *
     * @param folder the folder
     * @return the tokenizer
     * @throws IOException if the files cannot be read
     * @throws IllegalArgumentException if a file is malformed, or has a part that no supported model has; the message names it
     */
    public static Tokenizer load(Path folder) throws IOException {
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> read(folder));
    }

    private static Tokenizer read(Path folder) throws IOException {
        Path json = folder.resolve("tokenizer.json");
        JsonObject config = object(folder, CONFIG);
        Set<Integer> stopTokens = stopTokens(folder);
        if (!Files.exists(json)) {
            Path model = folder.resolve("tokenizer.model");
            Checks.folderWith(folder, List.of("tokenizer.json", "tokenizer.model"), "a tokenizer");
            AddedSpecialTokens added = Checks.in(folder.resolve(CONFIG + ".json"), () -> addedTokens(config));
            return Checks.in(model, () -> SentencePieceModel.parse(FileMemory.bytes(model), added, stopTokens));
        }
        return Checks.in(json, () -> json(FileMemory.bytes(json)).tokenizer(config, stopTokens));
    }

    /**
     * Reads the tokenizer of an encoder's folder, for example of BERT, XLM-R, RoBERTa or ModernBERT: a {@code tokenizer.json} whose model is
     * WordPiece, Unigram or BPE over bytes, or XLM-R's {@code sentencepiece.bpe.model} with the ids of fairseq, or {@code vocab.txt}.
     *
     * <p>WordPiece is read as in transformers, with the settings of {@code tokenizer_config.json} and other files. Unless a file names the class
     * {@code PreTrainedTokenizerFast}, {@code tokenizer_config.json} determines the normalization. Its default is lower case without accents, even if
     * a {@code tokenizer.json} has another one. {@code [PAD]} and {@code [MASK]} are found in texts; if the vocabulary lacks them, their ids follow
     * it. Tokens that this tokenizer would not find in texts, and settings that versions of transformers read differently, are errors.
     *
     * @param folder the folder
     * @return the tokenizer
     * @throws IOException if the files cannot be read
     * @throws IllegalArgumentException if a file is malformed or has an unsupported setting; the message names the file
     */
    public static EncoderTokenizer loadEncoder(Path folder) throws IOException {
        Checks.notNull(folder, "folder");
        return Downloads.withCommand(folder, () -> readEncoder(folder));
    }

    private static EncoderTokenizer readEncoder(Path folder) throws IOException {
        Path json = folder.resolve("tokenizer.json");
        JsonObject config = object(folder, CONFIG);
        Path fairseq = folder.resolve("sentencepiece.bpe.model");
        if (!Files.exists(json)) {
            Checks.folderWith(folder, List.of("tokenizer.json", "vocab.txt", "sentencepiece.bpe.model"), "a tokenizer");
            return Files.exists(fairseq)
                    ? fairseq(fairseq, config)
                    : new WordPiece(WordPieceFiles.loadVocabulary(folder));
        }
        TokenizerJson file = Checks.in(json, () -> json(FileMemory.bytes(json)));
        boolean wordPiece = Checks.in(json, file::isWordPiece);
        return wordPiece ? file.wordPiece(folder) : Checks.in(json, () -> file.encoder(config));
    }

    private static TokenizerJson json(byte[] utf8) {
        return new TokenizerJson(Checks.notNull(utf8, "utf8"));
    }

    /** Files of this name have other ids for other models, such as CamemBERT and mBART. */
    private static EncoderTokenizer fairseq(Path file, @Nullable JsonObject config) throws IOException {
        Checks.in(file.resolveSibling(CONFIG + ".json"), () -> {
            requireXlmR(config);
            return file;
        });
        return Checks.in(
                file,
                () -> new PieceEncoder(
                        SentencePieceModel.parseFairseq(FileMemory.bytes(file)),
                        PairTemplate.ROBERTA,
                        OptionalInt.empty()));
    }

    private static void requireXlmR(@Nullable JsonObject config) {
        String type = config == null ? null : config.find("tokenizer_class");
        if (config != null && type != null && !type.matches("XLMRobertaTokenizer(Fast)?")) {
            throw config.fail("tokenizer_class", "XLMRobertaTokenizer with sentencepiece.bpe.model");
        }
    }

    /** Returns the end tokens in {@code generation_config.json}, or if it has none, in {@code config.json}, as transformers does. */
    private static Set<Integer> stopTokens(Path folder) throws IOException {
        for (String name : List.of("generation_config", "config")) {
            JsonObject file = object(folder, name);
            if (file != null && file.has(ENDS)) {
                return Checks.in(folder.resolve(name + ".json"), () -> stopTokens(file));
            }
        }
        return Set.of();
    }

    private static Set<Integer> stopTokens(JsonObject file) {
        Set<Integer> stopTokens = new LinkedHashSet<>();
        boolean several = file.get(ENDS) instanceof List<?>;
        for (Object id : several ? file.array(ENDS) : List.of(file.get(ENDS))) {
            if (!(id instanceof Long number) || number < 0 || number > Integer.MAX_VALUE) {
                throw file.fail(ENDS, "ids");
            }
            stopTokens.add(number.intValue());
        }
        return stopTokens;
    }

    private static AddedSpecialTokens addedTokens(@Nullable JsonObject config) {
        return AddedSpecialTokens.of(
                config == null || config.flag("add_bos_token", true),
                config != null && config.flag("add_eos_token", false));
    }

    private static @Nullable JsonObject object(Path folder, String name) throws IOException {
        Path file = folder.resolve(name + ".json");
        return Files.exists(file)
                ? Checks.in(file, () -> new JsonObject(name, Json.object(name, FileMemory.bytes(file))))
                : null;
    }
}
