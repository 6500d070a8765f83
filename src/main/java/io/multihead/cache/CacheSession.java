package io.multihead.cache;

import io.multihead.compute.Compute;
import io.multihead.format.LazyTensor;
import io.multihead.format.Safetensors;
import io.multihead.internal.base.Checks;
import io.multihead.internal.call.Operation;
import java.io.IOException;
import java.lang.foreign.Arena;
import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;

/**
 * Saves sequences of a cache to a safetensors file, and loads them. The same or another process continues from the file with the same bits.
 *
 * <p>The file has the tokens of all layers as they are stored: tensors {@code layer.L.key} {@code [heads, tokens, headDim]} and {@code
 * layer.L.value} {@code [heads, tokens, valueDim]} of the cache's element type and, in i8, {@code layer.L.key_scale} and {@code
 * layer.L.value_scale} {@code [heads, tokens]} in f32. Keys with scales for blocks have {@code [heads, tokens, blocks]}. Tokens are
 * grouped in blocks of 64. The metadata has the blocks of each sequence, its first token and its length in each layer, and the sizes,
 * element type and rotary embeddings of the cache. Shared blocks are stored once, and shared again by the loaded sequences. Tokens that
 * were truncated or dropped are not in the file. Recurrent states are tensors {@code part.P.layer.L.state} {@code [states, floats]} in
 * f32, one row for each sequence and each of its snapshots; in a cache with several parts, the names of the tensors of keys and values
 * also begin with {@code part.P.}. A last tensor {@code checksums} has the CRC-32C of the metadata and of each other tensor, so that a
 * damaged file is refused. Files without checksums, of earlier versions, are accepted.
 *
 * <p>Paged and contiguous caches read each other's files. With respect to other threads, saving is a read of the cache, and loading is a
 * change.
 */
public final class CacheSession {
    private static final String NOTE = "note ";

    private CacheSession() {}

    /**
     * Saves sequences. The file appears under its name only when it is complete. Until then it is a file {@code safetensors-*.tmp} in
     * the same folder, which remains only if the process is killed. The call needs memory for the keys or the values of one layer.
     *
     * @param cpu threads and scratch
     * @param cache the cache, which is not changed
     * @param file the file to write or to replace
     * @param sequences open sequences, all different; none for a file without sequences
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalArgumentException if a sequence is not open or is given twice, the path has no file name, keys are rotated by tables
     *     ({@link io.multihead.position.Rope#ofTables}), which a file cannot name, or threads of {@code cpu} may not use the cache's arena
     */
    public static void save(Compute cpu, SequenceCache cache, Path file, int... sequences) throws IOException {
        save(cpu, cache, file, Map.of(), sequences);
    }

    /**
     * Saves sequences with notes, for example the name of their model. In all other respects, the method is the same as {@link
     * #save(Compute, SequenceCache, Path, int...)}.
     *
     * @param cpu threads and scratch
     * @param cache the cache, which is not changed
     * @param file the file to write or to replace
     * @param notes texts by name, stored as metadata {@code note NAME} of the file
     * @param sequences open sequences, all different; none for a file without sequences
     * @throws IOException if writing fails; an existing file is then unchanged
     * @throws IllegalArgumentException as {@link #save(Compute, SequenceCache, Path, int...)} does
     */
    public static void save(Compute cpu, SequenceCache cache, Path file, Map<String, String> notes, int... sequences)
            throws IOException {
        Operation.execution(cpu);
        Map<String, String> noted = new LinkedHashMap<>();
        Checks.notNull(notes, "notes")
                .forEach((name, text) ->
                        noted.put(NOTE + Checks.notNull(name, "notes' name"), Checks.notNull(text, "notes." + name)));
        SessionParts parts = SessionParts.of(Checks.notNull(cache, "cache"));
        parts.requireDistinct(Checks.notNull(sequences, "sequences"));
        Map<String, LazyTensor> tensors = parts.save(cpu, noted, sequences);
        Safetensors.writeLazy(file, SessionChecksums.added(noted, tensors), noted);
    }

    /**
     * Opens the sequences of a file, in the order in which they were saved, with the smallest numbers that are not in use; open sequences do not
     * change. The file is mapped, or read into memory if it is on a file system other than the default one. It is read twice: for its checksums,
     * and to fill pages.
     *
     * @param cpu threads and scratch
     * @param cache a cache of the file's sizes, element type and rotary embeddings
     * @param file a file that {@link #save} wrote
     * @return the numbers of the new sequences
     * @throws IOException if the file cannot be read; nothing changes
     * @throws IllegalArgumentException if the file is not a session file, is for other caches, or its bytes have changed since it was
     *     written; the message names the file, the field and both values; nothing changes
     * @throws CacheFullException if there is no room for all sequences; nothing changes
     */
    public static int[] load(Compute cpu, SequenceCache cache, Path file) throws IOException {
        return load(cpu, cache, file, notes -> {});
    }

    /**
     * Opens the sequences of a file whose notes are accepted. In all other respects, the method is the same as {@link #load(Compute,
     * SequenceCache, Path)}.
     *
     * @param cpu threads and scratch
     * @param cache a cache of the file's sizes, element type and rotary embeddings
     * @param file a file that {@link #save} wrote
     * @param accept receives the notes of the file before its tensors are read, and throws an {@link IllegalArgumentException} to refuse the file;
     *     the message then begins with the path
     * @return the numbers of the new sequences
     * @throws IOException if the file cannot be read; nothing changes
     * @throws IllegalArgumentException if the file is not a session file, is not accepted, is for other caches, or its bytes have changed
     *     since it was written; nothing changes
     * @throws CacheFullException if there is no room for all sequences; nothing changes
     */
    public static int[] load(Compute cpu, SequenceCache cache, Path file, Consumer<? super Map<String, String>> accept)
            throws IOException {
        Operation.execution(cpu);
        Checks.notNull(accept, "accept");
        SessionParts parts = SessionParts.of(Checks.notNull(cache, "cache"));
        parts.requireAccess(cpu);
        try (Arena arena = Arena.ofShared()) {
            Safetensors tensors = Safetensors.map(arena, file);
            return Checks.in(file, () -> {
                SessionChecksums checksums =
                        SessionHeader.hasChecksums(tensors) ? SessionChecksums.read(tensors) : null;
                accept.accept(notes(tensors));
                return parts.load(cpu, tensors, checksums);
            });
        }
    }

    private static Map<String, String> notes(Safetensors file) {
        Map<String, String> notes = new LinkedHashMap<>();
        file.metadata().forEach((name, text) -> {
            if (name.startsWith(NOTE)) {
                notes.put(name.substring(NOTE.length()), text);
            }
        });
        return notes;
    }
}
