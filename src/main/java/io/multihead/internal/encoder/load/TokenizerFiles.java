package io.multihead.internal.encoder.load;

import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.encoder.family.EncoderConfig;
import io.multihead.internal.encoder.family.StaticConfig;
import io.multihead.internal.load.PackedFile;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import io.multihead.text.Tokenizers;
import io.multihead.text.WordPiece;
import java.io.IOException;
import java.lang.foreign.MemorySegment;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/**
 * The files from which a tokenizer was read, as tensors of bytes in a packed file. A WordPiece tokenizer is written as a new file instead,
 * which includes the settings of other files of its folder. Immutable; tensors live as long as the encoder's mapping.
 */
public final class TokenizerFiles {
    public static final TokenizerFiles NONE = new TokenizerFiles(Map.of());

    private static final String JSON = "tokenizer.json";
    private static final String CONFIG = "tokenizer_config.json";

    /** The names of all tensors that a packed file may have for a tokenizer. */
    static final List<String> NAMES = List.of(JSON, CONFIG);

    private final Map<String, Tensor> files;

    private TokenizerFiles(Map<String, Tensor> files) {
        this.files = files;
    }

    /** Maps the files of a folder, if its tokenizer was read from them. */
    public static TokenizerFiles map(EncoderCore core, Path folder) throws IOException {
        Map<String, Tensor> files = new LinkedHashMap<>();
        if (!(core.tokenizer instanceof WordPiece) && Files.exists(folder.resolve(JSON))) {
            // no other file has an effect for static embeddings
            for (String name : core.model.config.isStatic() ? List.of(JSON) : NAMES) {
                if (Files.exists(folder.resolve(name))) {
                    files.put(name, PackedFile.bytes(FileMemory.of(folder.resolve(name), core.loading.arena())));
                }
            }
        }
        return new TokenizerFiles(files);
    }

    public static TokenizerFiles of(PackedFile packed) {
        Map<String, Tensor> files = new LinkedHashMap<>();
        NAMES.stream().filter(packed::contains).forEach(name -> files.put(name, packed.bytes(name)));
        return new TokenizerFiles(files);
    }

    static EncoderTokenizer read(PackedFile packed, EncoderConfig config) {
        byte[] json = packed.toArray(JSON);
        if (config instanceof StaticConfig table) {
            return table.tokenizer(json);
        }
        return packed.contains(CONFIG)
                ? Tokenizers.ofEncoderJson(json, packed.toArray(CONFIG))
                : Tokenizers.ofEncoderJson(json);
    }

    /** Returns the tensors that {@link #read} reads. */
    public Map<String, Tensor> tensors(EncoderTokenizer tokenizer) {
        if (tokenizer instanceof WordPiece wordPiece) {
            return Map.of(JSON, PackedFile.bytes(MemorySegment.ofArray(wordPiece.toTokenizerJson())));
        }
        if (files.isEmpty()) {
            throw Checks.fail(
                    "tokenizer", tokenizer.toString(), "expected WordPiece, or that of a folder with a " + JSON);
        }
        return files;
    }
}
