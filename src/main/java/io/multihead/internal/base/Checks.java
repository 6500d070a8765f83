package io.multihead.internal.base;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.CancellationException;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Argument checks and the wording of their messages: {@code name: actual; expected}.
 *
 * <p>Messages are built only on failure, so that a passing check allocates nothing.
 */
public final class Checks {
    /** The longest array that every JVM can allocate. */
    public static final int MAX_ARRAY_LENGTH = Integer.MAX_VALUE - 8;

    private static final int LONGEST = 1000;

    /** The largest number of names of a folder's files in a message. */
    private static final int MOST_NAMES = 10;

    /** The beginning of the message about the command of Hugging Face's hub that downloads a model. */
    static final String DOWNLOAD = "get one by: hf download OWNER/NAME ";

    /** A reader of a place, such as a file. */
    @FunctionalInterface
    public interface Reading<T, E extends Exception> {
        T read() throws E;
    }

    private Checks() {}

    /** Returns the value; an exception about an argument begins with the place, such as the path of a file, once. */
    public static <T, E extends Exception> T in(Object place, Reading<T, E> reading) throws E {
        try {
            return reading.read();
        } catch (IllegalArgumentException wrong) {
            String message = String.valueOf(wrong.getMessage());
            throw message.startsWith(place + ": ")
                    ? wrong
                    : new IllegalArgumentException(place + ": " + message, wrong);
        }
    }

    /** Fails if this thread is interrupted, and leaves the interrupt status set. */
    public static void notInterrupted(String argument) {
        if (Thread.currentThread().isInterrupted()) {
            throw new CancellationException(argument + ": the calling thread was interrupted; expected no interrupt");
        }
    }

    /** Returns {@code value}, or fails with an error that names {@code argument} if it is null. */
    public static <T> T notNull(@Nullable T value, String argument) {
        if (value == null) {
            throw new NullPointerException(argument + ": null; expected a value");
        }
        return value;
    }

    /** Returns {@code values}, or fails with an error that names {@code argument} or its element if that is null. */
    public static <T> T[] noNulls(T @Nullable [] values, String argument) {
        T[] all = notNull(values, argument);
        for (int i = 0; i < all.length; i++) {
            if (all[i] == null) {
                notNull(null, argument + "[" + i + "]");
            }
        }
        return all;
    }

    /**
     * Returns {@code values} as an unmodifiable copy, or fails with an error that names {@code argument} or its element if that is null.
     */
    public static <T> List<T> noNulls(@Nullable List<? extends T> values, String argument) {
        List<? extends T> all = notNull(values, argument);
        try {
            return List.copyOf(all); // copyOf does not copy an immutable list
        } catch (NullPointerException ofAnElement) {
            int index = 0;
            for (T value : all) {
                notNull(value, argument + "[" + index++ + "]");
            }
            throw ofAnElement;
        }
    }

    /** Fails unless {@code value >= least}. */
    public static long atLeast(long value, long least, String argument) {
        if (value < least) {
            throw fail(argument, String.valueOf(value), "expected at least " + least);
        }
        return value;
    }

    /**
     * Checks one of several values as {@link #atLeast(long, long, String)} does. The number of the value follows the name; both are joined only
     * for an error.
     */
    public static long atLeast(long value, long least, String argument, int number) {
        return value >= least ? value : atLeast(value, least, argument + " " + number);
    }

    /** Fails unless {@code 0 <= value <= 1}; NaN fails too. */
    public static double probability(double value, String argument) {
        if (!(value >= 0 && value <= 1)) {
            throw fail(argument, String.valueOf(value), "expected 0 to 1");
        }
        return value;
    }

    /** Fails unless {@code 0 <= value < limit}. */
    public static long index(long value, long limit, String argument) {
        if (value < 0 || value >= limit) {
            throw fail(argument, String.valueOf(value), "expected 0 to " + (limit - 1));
        }
        return value;
    }

    /** Checks one of several values as {@link #index(long, long, String)} does. The number of the value follows the name. */
    public static long index(long value, long limit, String argument, int number) {
        return value >= 0 && value < limit ? value : index(value, limit, argument + " " + number);
    }

    /** Returns {@code values}, or fails unless they are indices below a limit; the error has the position of the first wrong value. */
    public static int[] indices(int[] values, long limit, String argument) {
        notNull(values, argument);
        for (int i = 0; i < values.length; i++) {
            if (values[i] < 0 || values[i] >= limit) {
                index(values[i], limit, argument + "[" + i + "]");
            }
        }
        return values;
    }

    /** Returns {@code values}, or fails unless they are one or more different indices below a limit. */
    public static int[] distinctIndices(int[] values, long limit, String argument) {
        if (notNull(values, argument).length == 0
                || Arrays.stream(values).distinct().count() < values.length) {
            throw fail(argument, Arrays.toString(values), "expected at least one, none repeated");
        }
        return indices(values, limit, argument);
    }

    /** Fails unless a tensor with the given shape has as many tokens as the sequences that are packed in it. */
    public static void packedTokens(long actual, Object shape, long expected, Object sequences, String argument) {
        if (actual != expected) {
            throw fail(argument, actual + " tokens in shape " + shape, "expected the " + expected + " of " + sequences);
        }
    }

    /** Fails if a path is a folder. The system's own message for a folder that is read or mapped does not contain the path. */
    public static void notFolder(Path file) {
        if (Files.isDirectory(file)) {
            throw fail(file.toString(), "a folder", "expected a file");
        }
    }

    /**
     * Returns a model's path, or fails with the expected kind if nothing exists there; the message states the folder in which a relative
     * path was searched, and the command of Hugging Face's hub that downloads a model.
     */
    public static Path exists(Path path, String expected) throws NoSuchFileException {
        if (!Files.exists(path)) {
            throw new NoSuchFileException(
                    path.toString(), null, nothing(path) + "; expected " + expected + "; " + download(path));
        }
        return path;
    }

    private static String nothing(Path path) {
        return path.isAbsolute() ? "nothing there" : "nothing at " + path.toAbsolutePath();
    }

    /** Returns the exception for a missing file, which lists the files in the same folder. */
    static NoSuchFileException missing(Path file) throws IOException {
        Path folder = file.toAbsolutePath().getParent();
        String beside = folder != null && Files.isDirectory(folder) ? ", in " + contents(folder) : "";
        return new NoSuchFileException(file.toString(), null, nothing(file) + beside);
    }

    /** Returns the command of Hugging Face's hub that downloads a model to a path: a GGUF file, or a folder with all files of the model. */
    static String download(Path path) {
        boolean file = path.toString().endsWith(".gguf");
        Path folder = file ? path.resolveSibling(".").normalize() : path;
        String place = folder.toString().isEmpty() ? "." : folder.toString();
        return DOWNLOAD + (file ? path.getFileName() + " " : "") + "--local-dir " + place;
    }

    /** Returns a folder, or fails if there is none. */
    public static Path folder(Path folder, String expected) throws NoSuchFileException {
        if (!Files.isDirectory(exists(folder, expected))) {
            throw fail(folder.toString(), "a file", "expected " + expected);
        }
        return folder;
    }

    /** Fails unless a path is a folder with one of some files; a message lists its files. */
    public static void folderWith(Path folder, List<String> files, String expected) throws IOException {
        folder(folder, expected);
        if (files.stream().noneMatch(name -> Files.exists(folder.resolve(name)))) {
            throw new NoSuchFileException(
                    folder.toString(),
                    null,
                    contents(folder) + ", no " + String.join(" or ", files) + "; expected " + expected);
        }
    }

    /** Returns a folder's contents: only the first names, since it may have any number of files. */
    private static String contents(Path folder) throws IOException {
        try (Stream<Path> all = Files.list(folder)) {
            List<String> names = all.limit(MOST_NAMES + 1)
                    .map(file -> String.valueOf(file.getFileName()))
                    .sorted()
                    .toList();
            return names.isEmpty()
                    ? "an empty folder"
                    : "a folder with " + String.join(", ", names.subList(0, Math.min(MOST_NAMES, names.size())))
                            + (names.size() > MOST_NAMES ? ", ..." : "");
        }
    }

    /** Narrows a size that must fit a Java array, or fails with an error that names it. */
    public static int fitsInt(long value, String argument) {
        if (value < 0 || value > MAX_ARRAY_LENGTH) {
            throw fail(argument, String.valueOf(value), "expected 0 to " + MAX_ARRAY_LENGTH);
        }
        return (int) value;
    }

    /** Fails unless an array has the expected number of elements; {@code reason} explains the number, such as "one per row". */
    public static void length(long actual, long expected, String argument, String reason) {
        if (actual != expected) {
            throw fail(argument, actual + " elements", "expected " + expected + ", " + reason);
        }
    }

    /**
     * Checks the offsets of consecutive sequences: the first is 0, each is larger than the previous one, and the last is the end.
     *
     * @param end the number of tokens
     * @param shape shape of the argument {@code tokens}, for the message
     */
    public static void requireOffsets(long[] offsets, String argument, long end, Object shape) {
        notNull(offsets, argument);
        if (offsets.length == 0 || offsets[0] != 0) {
            throw fail(argument, offsets.length == 0 ? "empty" : offsets[0] + " first", "expected 0 as the first");
        }
        for (int passage = 1; passage < offsets.length; passage++) {
            long before = offsets[passage - 1];
            if (offsets[passage] <= before) {
                throw fail(
                        argument + "[" + passage + "]",
                        String.valueOf(offsets[passage]),
                        "expected more than " + before + ", where passage " + (passage - 1) + " begins");
            }
        }
        long last = offsets[offsets.length - 1];
        if (last != end) {
            throw fail(argument, last + " last", "expected " + end + ", as in tokens " + shape);
        }
    }

    /** Multiplies sizes of at least 0, or fails with an error that names them if the product does not fit a Java array. */
    public static int product(String argument, long... sizes) {
        long product = 1;
        for (long size : sizes) {
            if (size < 0 || size > 0 && product > MAX_ARRAY_LENGTH / size) {
                throw fail(
                        argument,
                        "sizes " + Arrays.toString(sizes),
                        "expected at least 0 each and a product of at most " + MAX_ARRAY_LENGTH);
            }
            product *= size;
        }
        return (int) product;
    }

    /** Fails unless the number is finite and at least {@code least}. */
    public static double finiteAtLeast(double value, double least, String argument) {
        if (!(value >= least && value < Double.POSITIVE_INFINITY)) {
            throw fail(argument, String.valueOf(value), "expected a finite number of at least " + least);
        }
        return value;
    }

    /**
     * Returns the exception for an illegal argument: {@code argument: actual; expected}, with an empty text as {@code ""}. Each part is truncated
     * after {@value #LONGEST} characters, since a part may contain a name or a shape from a file.
     */
    public static IllegalArgumentException fail(String argument, String actual, String expected) {
        String shown = actual.isEmpty() ? "\"\"" : actual;
        return new IllegalArgumentException(cut(argument) + ": " + cut(shown) + "; " + cut(expected));
    }

    private static String cut(String text) {
        return text.length() <= LONGEST
                ? text
                : text.substring(0, LONGEST) + "... (" + (text.length() - LONGEST) + " more characters)";
    }
}
