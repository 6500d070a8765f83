package io.multihead.internal.encoder.load;

import io.multihead.format.SafetensorsFolder;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.FileMemory;
import io.multihead.internal.encoder.family.StaticConfig;
import io.multihead.internal.layout.Positions;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.WeightSource;
import io.multihead.internal.load.Weights;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.EncoderTokenizer;
import java.io.IOException;
import java.nio.file.Path;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import org.jspecify.annotations.Nullable;

/**
 * The folder of a StaticEmbedding module of sentence-transformers or of model2vec, with a {@code tokenizer.json}. sentence-transformers writes
 * {@code embedding.weight}, with one row per token. model2vec writes {@code embeddings} and, optionally, {@code mapping} with the row of each
 * token and {@code weights} with a factor of each token, which are applied once, as in sentence-transformers. int8 rows of model2vec are used
 * as integers, because no file contains the scale by which they were divided, and model2vec does not multiply by a scale.
 */
public final class StaticTable {
    private static final String TABLE = StaticConfig.TABLE + ".weight";
    private static final String MODEL2VEC = "embeddings";
    private static final String MAPPING = "mapping";
    private static final String FACTORS = "weights";

    /** The bytes of a table that are accepted for any number of rows. */
    private static final long FEW = 1 << 28;

    /** The largest ratio of the bytes of a larger table to the bytes of its stored rows, since few rows may stand for many tokens. */
    private static final long GROWTH = 64;

    private final SafetensorsFolder files;
    private final Path folder;
    private final Loading loading;
    private final Tensor rows;
    private final long @Nullable [] mapping;
    private final double @Nullable [] factors;
    private final StaticConfig config;

    private StaticTable(SafetensorsFolder files, Path folder, Loading loading) {
        this.files = files;
        this.folder = folder;
        this.loading = loading;
        Set<String> unused = new TreeSet<>(files.names());
        String name = unused.contains(TABLE) ? TABLE : MODEL2VEC;
        if (!unused.remove(name)) {
            throw Checks.fail(
                    "tensor \"" + TABLE + "\"",
                    "not in the file",
                    "expected it, or model2vec's \"" + MODEL2VEC + "\", beside "
                            + unused.stream().limit(10).toList());
        }
        boolean isModel2Vec = name.equals(MODEL2VEC);
        rows = files.get(name);
        boolean isInt8 = isModel2Vec && files.elementType(name).equals("I8"); // U8 and BOOL are I8 tensors, too
        if (rows.rank() != 2 || !rows.dtype().isFloating() && !isInt8) {
            throw wrong(name, "expected floating numbers" + (isModel2Vec ? " or I8" : "") + " [tokens, dim]");
        }
        mapping = isModel2Vec && unused.remove(MAPPING) ? mapping() : null;
        int tokens = mapping == null ? Checks.fitsInt(rows.dim(0), "rows of \"" + name + "\"") : mapping.length;
        config = Checks.in(
                "tensor \"" + name + "\"",
                () -> new StaticConfig(Checks.fitsInt(rows.dim(1), "hidden_size"), tokens, isModel2Vec));
        factors = isModel2Vec && unused.remove(FACTORS) ? factors(tokens) : null;
        if (!unused.isEmpty()) {
            throw Checks.fail("weights", "unused " + unused, "expected the weights of a StaticEmbedding module");
        }
        if (mapping != null) {
            requireRows(mapping);
        }
    }

    /** Reads the table of a module's folder, and its tokenizer. */
    public static EncoderCore load(Loading loading, Path folder) throws IOException {
        return EncoderCore.orClose(loading::close, () -> {
            SafetensorsFolder files = SafetensorsFolder.map(loading.arena(), folder);
            StaticTable table = Checks.in(files.path(), () -> new StaticTable(files, folder, loading));
            return ModelLoader.load(loading, table::model, table::tokenizer);
        });
    }

    private IllegalArgumentException wrong(String name, String expected) {
        return Checks.fail("tensor \"" + name + "\"", files.elementType(name) + " " + files.shape(name), expected);
    }

    private long[] mapping() {
        if (files.shape(MAPPING).rank() != 1) {
            throw wrong(MAPPING, "expected I64 or I32 [tokens]");
        }
        return files.longs(MAPPING);
    }

    private double[] factors(int tokens) {
        Tensor factors = files.get(FACTORS);
        if (factors.rank() != 1 || factors.dim(0) != tokens || !factors.dtype().isFloating()) {
            throw wrong(FACTORS, "expected floating numbers of shape [" + tokens + "]");
        }
        double[] values = new double[tokens];
        for (int i = 0; i < tokens; i++) {
            values[i] = factors.get(i);
        }
        return values;
    }

    private void requireRows(long[] of) {
        for (int token = 0; token < of.length; token++) {
            if (of[token] < 0 || of[token] >= rows.dim(0)) {
                throw Checks.fail(
                        MAPPING + "[" + token + "]",
                        String.valueOf(of[token]),
                        "expected 0 to " + (rows.dim(0) - 1) + ", a row of \"" + MODEL2VEC + "\"");
            }
        }
        long most = Math.max(FEW, GROWTH * bytes(rows.dim(0)));
        if (bytes(of.length) > most) {
            throw Checks.fail(
                    MAPPING,
                    of.length + " tokens of " + bytes(1) + " bytes",
                    "expected at most " + most + " bytes for " + rows.dim(0) + " different rows");
        }
    }

    private long bytes(long tokens) {
        return tokens * config.dim() * Float.BYTES;
    }

    private EncoderModel model() {
        return Checks.in(
                files.path(),
                () -> new EncoderModel(config, new Weights(loading, WeightSource.of(Map.of(TABLE, perToken())))));
    }

    /** Returns one row per token: in place, or in native memory if rows are shared or multiplied. */
    private Tensor perToken() {
        long[] from = mapping;
        double[] each = factors;
        if (from == null && each == null) {
            return rows;
        }
        DType dtype = each == null ? rows.dtype() : DType.F32;
        Tensor all = Tensor.allocate(loading.arena(), dtype, Shape.of(config.vocabulary(), config.dim()));
        for (int token = 0; token < config.vocabulary(); token++) {
            long row = from == null ? token : from[token];
            if (each == null) {
                rows.slice(0, row, row + 1).copyTo(all.slice(0, token, token + 1L));
            } else {
                multiply(row, each[token], all, token);
            }
        }
        return all;
    }

    /** Multiplies a row by a factor, in double, as sentence-transformers does with factors in f64, and rounds the products to f32. */
    private void multiply(long row, double factor, Tensor all, long token) {
        int dim = config.dim();
        for (int i = 0; i < dim; i++) {
            Positions.set(all, Positions.get(rows, row * dim + i) * factor, token * dim + i);
        }
    }

    /** Reads the tokenizer. A model's other files have no effect, because sentence-transformers does not read them. */
    private EncoderTokenizer tokenizer() throws IOException {
        Path json = folder.resolve("tokenizer.json");
        return Checks.in(json, () -> EncoderCore.requireRows(config.tokenizer(FileMemory.bytes(json)), config));
    }
}
