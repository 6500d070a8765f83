package io.multihead.faults;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertTrue;

import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/**
 * Calls every public constructor and method with random arguments. A call returns, or an exception names the argument and no memory has
 * changed.
 *
 * <p>The calls of a build are always the same. {@code -Dmultihead.faults.seconds=N} makes other random calls for N seconds.
 * {@code -Dmultihead.faults.seed=S} repeats the call with that seed.
 */
class ArgumentFuzzTest {
    private static final int CALLS = Integer.getInteger("multihead.faults.calls", 5_000);

    /** Methods whose argument is a position in memory. They throw an exception of the JDK, as documented. */
    private static final Set<String> POSITIONS = Set.of("getAt", "setAt");

    private final List<Executable> api = PublicApi.executables();
    private final Map<Class<?>, List<Executable>> makers = new HashMap<>();
    /** One finding of each kind, with the seed of the first such call. */
    private final Map<String, String> findings = new TreeMap<>();

    private long returned;
    private long rejected;

    @TempDir
    private Path folder;

    @Test
    void everyCallReturnsOrNamesTheArgument() {
        Long only = Long.getLong("multihead.faults.seed");
        int seconds = Integer.getInteger("multihead.faults.seconds", 0);
        long seed = seconds > 0 ? System.nanoTime() << 20 : 0;
        long last = only != null ? only : seconds > 0 ? Long.MAX_VALUE : CALLS - 1;
        long start = System.nanoTime();
        System.out.println("argument fuzz: seeds from " + (only != null ? only : seed));
        for (seed = only != null ? only : seed; seed <= last; seed++) {
            call(seed);
            if (seconds > 0 && System.nanoTime() - start > TimeUnit.SECONDS.toNanos(seconds)) {
                break;
            }
        }
        System.out.println("argument fuzz: " + returned + " calls returned, " + rejected + " were rejected");
        assertEquals("", String.join("\n", findings.values()));
        assertTrue(only != null || returned > 1000 && rejected > 1000, "too few calls reached the library");
    }

    private void call(long seed) {
        SplittableRandom random = new SplittableRandom(seed);
        Executable target = api.get(random.nextInt(api.size()));
        Arguments arguments = new Arguments(random, api, makers, folder);
        Optional<Object[]> values = arguments.all(target, 0);
        boolean fixed = target instanceof Constructor<?> || Modifier.isStatic(target.getModifiers());
        Object receiver = fixed ? null : arguments.of(target.getDeclaringClass(), target.getDeclaringClass(), 1);
        if (values.isEmpty() || !fixed && receiver == null) {
            return;
        }
        List<String> words = Arguments.words(values.get());
        arguments.memory.snapshot();
        try {
            invoke(target, receiver, values.get());
            returned++;
            int absent = acceptedNull(target, values.get());
            if (absent >= 0) {
                report(seed, target, words, "accepts null as parameter " + absent, null);
            }
        } catch (InvocationTargetException thrown) {
            rejected++;
            boolean position =
                    POSITIONS.contains(target.getName()) && thrown.getCause() instanceof IndexOutOfBoundsException;
            if (!position && !Verdict.isNamed(thrown.getCause())) {
                report(seed, target, words, "throws", thrown.getCause());
            } else if (!arguments.memory.isUntouched()) {
                report(seed, target, words, "writes before it throws", thrown.getCause());
            }
        }
    }

    private static void invoke(Executable target, @Nullable Object receiver, Object[] values)
            throws InvocationTargetException {
        try {
            if (target instanceof Constructor<?> constructor) {
                constructor.newInstance(values);
            } else {
                ((Method) target).invoke(receiver, values);
            }
        } catch (IllegalAccessException | InstantiationException impossible) {
            throw new IllegalStateException(target.toString(), impossible);
        }
    }

    /** Returns the index of the first argument that is null although its parameter is not nullable, or -1. */
    private static int acceptedNull(Executable target, Object[] values) {
        if (Arrays.stream(values).noneMatch(Objects::isNull)) {
            return -1; // avoids reading annotations, which takes longer than most calls
        }
        AnnotatedType[] types = target.getAnnotatedParameterTypes();
        for (int i = 0; i < values.length; i++) {
            if (values[i] == null && !types[i].isAnnotationPresent(Nullable.class) && !isNullableComponent(target, i)) {
                return i;
            }
        }
        return -1;
    }

    /** Annotations of record components are read here, because compact constructors do not repeat them. */
    private static boolean isNullableComponent(Executable target, int parameter) {
        return target instanceof Constructor<?> constructor
                && constructor.getDeclaringClass().isRecord()
                && constructor
                        .getDeclaringClass()
                        .getRecordComponents()[parameter]
                        .getAnnotatedType()
                        .isAnnotationPresent(Nullable.class);
    }

    private void report(long seed, Executable target, List<String> words, String what, @Nullable Throwable thrown) {
        String kind = target + " " + what + (thrown == null ? "" : " " + thrown.getClass());
        StringBuilder text = new StringBuilder(kind + ", seed " + seed + ", arguments " + words);
        for (int i = 0; thrown != null && i < Math.min(6, thrown.getStackTrace().length); i++) {
            text.append(i == 0 ? "\n    " + thrown : "").append("\n      at ").append(thrown.getStackTrace()[i]);
        }
        findings.putIfAbsent(kind, text.toString());
    }
}
