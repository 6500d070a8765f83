package io.multihead.decoder;

import io.multihead.format.Gguf;
import io.multihead.internal.base.Checks;
import io.multihead.internal.base.JsonObject;
import io.multihead.internal.load.Loading;
import io.multihead.internal.load.PackedFile;
import io.multihead.internal.load.Weights;
import io.multihead.model.Transformer;
import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.FileSystem;
import java.nio.file.FileSystems;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.ProviderNotFoundException;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Stream;

/**
 * Writes and maps a language model in one file. The file has the weights, packed as matrix products read them, and the other files from
 * which the model was loaded.
 */
final class PackedDecoder {
    private static final String FORMAT = "multihead language model 1";
    private static final String MODEL = "model";
    private static final String NAME = "name";
    private static final String CHECKSUM = "checksum";
    private static final String EIGHT_BIT_INPUTS = "eight_bit_inputs";
    private static final String HAS_HEAD = "has_head";
    private static final List<String> SOURCES = List.of(DecoderFiles.Source.GGUF, DecoderFiles.Source.FOLDER);

    private PackedDecoder() {}

    /** Writes a model, or fails if it is made of parts. */
    static void write(Path path, LoadedDecoder model, LoadListener listener) throws IOException {
        LoadedDecoder.Packing packing = model.packing();
        if (packing == null) {
            throw new IllegalStateException("model: made of parts; expected a model from a file");
        }
        Map<String, Object> described = Map.of(
                NAME,
                model.facts().name(),
                CHECKSUM,
                model.identity().checksum(),
                EIGHT_BIT_INPUTS,
                model.loading().eightBitInputs(),
                HAS_HEAD,
                model.hasHead());
        new PackedFile.Contents(FORMAT)
                .with(MODEL, new TreeMap<>(described)) // sorted, so that the file always has the same bytes
                .with("", packing.weights())
                .withFiles(packing.source().tensors())
                .write(path, listener::onPart);
    }

    /** Maps a file that {@link #write} wrote. */
    static LoadedDecoder map(Loading loading, Path path) throws IOException {
        PackedFile file = PackedFile.map(path, FORMAT, loading);
        return Checks.in(path, () -> {
            JsonObject model = file.json(MODEL);
            Loading own = loading.withEightBitInputs(model.flag(EIGHT_BIT_INPUTS));
            Weights weights = file.weights(own, "", file.names("", Set.copyOf(SOURCES)));
            DecoderFiles files = files(file, path, own);
            Transformer built = DecoderLoader.build(files, weights, !model.flag(HAS_HEAD), LoadListener.NONE);
            return new LoadedDecoder(files, built, weights, ModelIdentity.Tensors.of(checksum(model)), own);
        });
    }

    private static String checksum(JsonObject model) {
        String checksum = model.text(CHECKSUM);
        if (!checksum.matches("[0-9a-f]{32}")) {
            throw model.fail(CHECKSUM, "32 hexadecimal digits");
        }
        return checksum;
    }

    private static DecoderFiles files(PackedFile file, Path path, Loading loading) throws IOException {
        String source = SOURCES.stream()
                .filter(file::contains)
                .findFirst()
                .orElseThrow(() -> Checks.fail("file", "no settings of the model", "expected one of " + SOURCES));
        Tensor bytes = file.bytes(source);
        DecoderFiles files;
        if (source.equals(DecoderFiles.Source.GGUF)) {
            files = DecoderFiles.of(Gguf.parse(bytes.memory()), path, file.tensors());
        } else {
            try (FileSystem archive = FileSystems.newFileSystem(path)) {
                Path folder = archive.getPath("/");
                requireStored(folder, bytes.memory().byteSize());
                files = DecoderFiles.of(folder, file.tensors(), loading.arena());
            } catch (ProviderNotFoundException missing) {
                throw new IllegalStateException(
                        "runtime: no module jdk.zipfs; expected the module, to read " + path, missing);
            }
        }
        return files.with(file.json(MODEL).text(NAME), () -> Map.of(source, bytes));
    }

    /** Fails if an archive claims that a file has more bytes than the archive, because the file would be read into that much memory. */
    private static void requireStored(Path folder, long most) throws IOException {
        List<Path> all;
        try (Stream<Path> files = Files.walk(folder, 3)) {
            all = files.toList();
        } catch (UncheckedIOException unreadable) {
            throw unreadable.getCause();
        }
        for (Path file : all) {
            if (Files.isRegularFile(file) && Files.size(file) > most) {
                throw Checks.fail(file.toString(), Files.size(file) + " bytes", "expected at most " + most);
            }
        }
    }
}
