package io.multihead.fuzz;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * The folder of a model in which one file has arbitrary bytes. The first byte of an input, from '0' on, selects the
 * file.
 */
final class ModelFolder {
    private static final String WEIGHTS = ".safetensors";

    /** The file with factors of states, scores and logits, which may make these infinite. */
    private static final String SCALES = "config.json";

    private final Path folder;
    private final Map<String, byte[]> files;
    /** The files in the order of their numbers. */
    private final List<String> names;

    /**
     * Files with sizes, modules or tokens that other files depend on. After a change of such a file, an error may name
     * another file.
     */
    private final Set<String> shared;

    private final long besides;
    private final Use use;

    /** Loads the model of a folder and uses it. */
    interface Use {
        /** Loads and uses the model. {@code finite} tells whether all results must be finite. */
        void run(Path folder, boolean finite) throws IOException;
    }

    ModelFolder(String name, Map<String, byte[]> files, List<String> names, Set<String> shared, Use use) {
        this(name, files, names, shared, 0, use);
    }

    /**
     * Creates a folder of these files.
     *
     * @param besides bytes that loading allocates, for any size of the changed file
     */
    ModelFolder(String name, Map<String, byte[]> files, List<String> names, Set<String> shared, long besides, Use use) {
        this.besides = besides;
        folder = Scratch.folder(name);
        this.files = files;
        this.names = names;
        this.shared = shared;
        this.use = use;
        files.forEach((file, bytes) -> Scratch.write(folder.resolve(file), bytes));
    }

    void check(byte[] input) {
        if (input.length > 0) {
            Oracle.check(input.length, besides, () -> changed(input));
        }
    }

    private void changed(byte[] input) {
        String changed = names.get(Math.floorMod(input[0] - '0', names.size()));
        byte[] content = Arrays.copyOfRange(input, 1, input.length);
        byte[] bytes = changed.endsWith(WEIGHTS) ? Framed.file(content) : content;
        Path file = folder.resolve(changed);
        Scratch.write(file, bytes);
        try {
            Path named = shared.contains(changed) ? folder : file;
            boolean finite = !changed.endsWith(WEIGHTS) && !changed.equals(SCALES);
            Oracle.accepts(named.toString(), () -> Oracle.computes(finite, () -> use.run(folder, finite)));
        } finally {
            Scratch.write(file, files.get(changed));
        }
    }
}
