package io.multihead.faults;

import io.multihead.attention.ScoreModifier;
import io.multihead.compute.Compute;
import io.multihead.decoder.ChatPrompt;
import io.multihead.decoder.LanguageModel;
import io.multihead.decoder.LoadListener;
import io.multihead.decoder.Session;
import io.multihead.decoder.Sessions;
import io.multihead.decoder.TextEmbedder;
import io.multihead.format.Gguf;
import io.multihead.format.OnnxWeights;
import io.multihead.format.SafetensorsFolder;
import io.multihead.support.SmallArena;
import io.multihead.tensor.BlockTensor;
import io.multihead.tensor.BlockType;
import io.multihead.tensor.DType;
import io.multihead.tensor.Shape;
import io.multihead.tensor.Tensor;
import io.multihead.text.PromptText;
import java.lang.foreign.Arena;
import java.lang.foreign.MemorySegment;
import java.lang.reflect.Array;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.lang.reflect.ParameterizedType;
import java.lang.reflect.Type;
import java.lang.reflect.WildcardType;
import java.nio.Buffer;
import java.nio.ByteBuffer;
import java.nio.ByteOrder;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalDouble;
import java.util.Set;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.ToDoubleFunction;
import java.util.random.RandomGenerator;

/** Makes arguments of any type. Most values are small and fit each other, and some are invalid. */
final class Arguments {
    /** Only the first {@link #MODEST} values become sizes of objects that other calls use, because huge objects would exhaust memory. */
    private static final int[] INTS = {0, 1, 3, 4, 32, -1, -2, 1 << 30, Integer.MAX_VALUE, Integer.MIN_VALUE};

    private static final int MODEST = 7;
    private static final long[] LONGS = {
        0, 1, 3, 4, 64, -1, -2, 1L << 32, (1L << 32) + 2, 1L << 62, Long.MAX_VALUE, Long.MIN_VALUE
    };
    private static final double[] DOUBLES = {
        0, 0.5, 1, 2, -1, 1e39, -1e300, Double.NaN, Double.POSITIVE_INFINITY, Double.MIN_VALUE
    };
    private static final List<String> STRINGS = List.of(" ", "weight", "a.b", "é\ud800", "__metadata__");
    /** The size becomes 2 when it is cast to an int. No machine can allocate it. */
    private static final long HUGE = (1L << 58) + 2;

    /** The largest allocation in bytes. Without this limit, most of the time would be spent on filling gigabytes of parameters. */
    private static final long MOST_BYTES = 1 << 20;

    private static final int DEEPEST = 4;
    /** The number of tries in ten that take a value of {@link ModelParts}. The others take a random value. */
    private static final int FITTING = 8;

    /**
     * Types that are created from model files, which the fuzz targets of {@code src/it/fuzz} read. They are excluded, because random
     * arguments would fail about a hundred times per call.
     */
    private static final Set<Class<?>> OF_FILES = Set.of(
            LanguageModel.class,
            Sessions.class,
            Session.class,
            TextEmbedder.class,
            Gguf.class,
            OnnxWeights.class,
            SafetensorsFolder.class);

    private static final Compute SERIAL = Compute.serial();

    private final RandomGenerator random;
    private final List<Executable> api;
    private final Map<Class<?>, List<Executable>> makers;
    private final Path folder;

    final Memory memory = new Memory();
    /** The percentage of bad values. */
    private final int badPercent;

    /**
     * Creates the arguments of one call.
     *
     * @param makers the makers of values of each type, which all calls share, and which are added when a type is first requested
     */
    Arguments(RandomGenerator random, List<Executable> api, Map<Class<?>, List<Executable>> makers, Path folder) {
        this.random = random;
        this.api = api;
        this.makers = makers;
        this.folder = folder;
        badPercent = random.nextInt(4) * 8;
    }

    /** Returns one argument per parameter, or an empty result if no value of some type could be made. */
    Optional<Object[]> all(Executable call, int depth) {
        Type[] types = call.getGenericParameterTypes();
        Object[] values = new Object[types.length];
        for (int i = 0; i < types.length; i++) {
            Class<?> raw = call.getParameterTypes()[i];
            boolean absent = !raw.isPrimitive() && depth == 0 && random.nextInt(100) < badPercent / 2;
            values[i] = absent ? null : of(types[i], raw, depth);
            if (values[i] == null && !absent) {
                return Optional.empty();
            }
        }
        return Optional.of(values);
    }

    /** Returns a value of a type, or null if no value could be made. */
    Object of(Type type, Class<?> raw, int depth) {
        if (raw.isArray()) {
            return array(raw.componentType(), depth);
        }
        if (raw.isEnum()) {
            return raw.getEnumConstants()[random.nextInt(raw.getEnumConstants().length)];
        }
        Object simple = simple(raw, type.toString(), depth);
        if (simple != null) {
            return simple;
        }
        if (raw == List.class) {
            return list(type, depth);
        }
        if (raw == Map.class) {
            return map(type, depth);
        }
        return raw.getName().startsWith("io.multihead") ? made(raw, depth) : null;
    }

    private boolean bad() {
        return random.nextInt(100) < badPercent;
    }

    private Object simple(Class<?> raw, String type, int depth) {
        return switch (raw.getName()) {
            case "int", "java.lang.Integer" ->
                bad() ? INTS[random.nextInt(depth == 0 ? INTS.length : MODEST)] : random.nextInt(4);
            case "long" -> bad() ? LONGS[random.nextInt(depth == 0 ? LONGS.length : MODEST)] : random.nextInt(5);
            case "double" -> bad() ? DOUBLES[random.nextInt(DOUBLES.length)] : random.nextInt(4) * 0.5;
            case "float" -> (float) (bad() ? DOUBLES[random.nextInt(DOUBLES.length)] : 0.5);
            case "boolean" -> random.nextBoolean();
            case "short" -> (short) random.nextInt();
            case "java.lang.String" -> STRINGS.get(random.nextInt(STRINGS.size()));
            case "java.util.OptionalDouble" ->
                random.nextBoolean() ? OptionalDouble.empty() : OptionalDouble.of(DOUBLES[random.nextInt(10)]);
            case "java.lang.foreign.MemorySegment" -> segment();
            case "java.lang.foreign.Arena" -> arena();
            case "java.lang.Object" -> List.of(2.5, true, "yarn", List.of(1.5)).get(random.nextInt(4));
            case "java.nio.Buffer" -> buffer();
            case "java.nio.file.Path" -> folder.resolve(random.nextBoolean() ? "file" : "no/such/folder/file");
            case "io.multihead.tensor.Tensor" -> tensor();
            case "io.multihead.tensor.Shape" -> shape();
            case "io.multihead.compute.Compute" -> compute();
            case "io.multihead.model.SelfAttention" -> ModelParts.ATTENTION;
            case "io.multihead.model.Block" -> ModelParts.BLOCK;
            case "io.multihead.model.PackedLinear" -> fitting(ModelParts.LINEAR);
            case "io.multihead.model.LinearGroup" -> fitting(ModelParts.PROJECTIONS);
            case "io.multihead.model.FeedForward", "io.multihead.model.Part" -> fitting(ModelParts.FEED_FORWARD);
            case "io.multihead.model.Sublayer" -> ModelParts.SUBLAYER;
            default -> function(raw, type);
        };
    }

    private Object fitting(Object part) {
        return random.nextInt(10) < FITTING ? part : null;
    }

    private Object function(Class<?> raw, String type) {
        if (raw == Function.class && type.contains("boolean[][]")) {
            return (Function<boolean[][], double[][]>)
                    kept -> bad() ? new double[0][] : new double[kept.length][kept[0].length];
        }
        if (raw == Function.class && type.contains("BlockTensor")) {
            return (Function<Arena, BlockTensor>) arena -> BlockTensor.quantize(
                    arena, Tensor.of(new float[64], 2, 32), bad() ? BlockType.Q4_0 : BlockType.Q8_0);
        }
        if (raw == Function.class && type.contains("Arena")) {
            return (Function<Arena, Tensor>) arena -> tensor();
        }
        if (raw == Function.class && type.contains("ChatPrompt")) {
            return (Function<ChatPrompt, PromptText>) prompt -> bad() ? null : PromptText.template("a");
        }
        if (raw == Function.class) {
            return (Function<String, Tensor>) name -> tensor();
        }
        if (raw == ToDoubleFunction.class) {
            return (ToDoubleFunction<boolean[][]>) kept -> 0.5;
        }
        if (raw == Supplier.class) {
            return (Supplier<Object>) Object::new;
        }
        if (raw == LoadListener.class) {
            return LoadListener.NONE;
        }
        if (raw == Executor.class) {
            return (Executor) Runnable::run;
        }
        return raw == ScoreModifier.class ? (ScoreModifier) (batch, head, query, key, score) -> score : null;
    }

    private Compute compute() {
        Compute made = bad() ? Compute.serial() : SERIAL;
        if (made != SERIAL) {
            made.close();
        }
        return made;
    }

    private Arena arena() {
        Arena arena = bad() ? Arena.ofShared() : Arena.ofAuto();
        if (badPercent > 0 && random.nextInt(8) == 0) {
            arena = Arena.ofConfined();
            arena.close();
        }
        return new SmallArena(arena, MOST_BYTES, Long.MAX_VALUE);
    }

    private MemorySegment segment() {
        Memory.Kind[] kinds = Memory.Kind.values();
        return memory.of(bad() ? kinds[random.nextInt(kinds.length)] : kinds[random.nextInt(2)], random);
    }

    private Buffer buffer() {
        ByteBuffer bytes = ByteBuffer.allocateDirect(64).order(bad() ? ByteOrder.BIG_ENDIAN : ByteOrder.nativeOrder());
        return random.nextBoolean() ? bytes : bytes.asFloatBuffer();
    }

    private Shape shape() {
        return Shape.of(dims(random.nextInt(5)));
    }

    private long[] dims(int rank) {
        long[] dims = new long[rank];
        for (int axis = 0; axis < rank; axis++) {
            dims[axis] = bad() ? random.nextInt(4) : 2;
        }
        return dims;
    }

    Tensor tensor() {
        DType dtype = bad() ? DType.values()[random.nextInt(5)] : DType.F32;
        long[] dims = dims(bad() ? random.nextInt(5) : 1 + random.nextInt(4));
        Tensor tensor = Tensor.view(segment(), dtype, Shape.of(dims));
        if (bad() && dims.length > 0) {
            long[] wider = dims.clone();
            int axis = random.nextInt(dims.length);
            tensor = tensor.slice(axis, 0, Math.min(1, dims[axis]));
            // a call may loop over the first axis, so only a later axis has a size that exceeds an int
            wider[axis] = tensor.dim(axis) == 0 ? 0 : axis == 0 ? 3 : HUGE;
            tensor = tensor.broadcast(wider);
        }
        return tensor;
    }

    private Object array(Class<?> component, int depth) {
        int length = random.nextInt(10) < 6 ? 2 : random.nextInt(5);
        Object array = Array.newInstance(component, length);
        for (int i = 0; i < length; i++) {
            boolean absent = !component.isPrimitive() && bad() && random.nextInt(3) == 0;
            Object value = absent ? null : of(component, component, depth + 1);
            if (value == null && component.isPrimitive()) {
                return null;
            }
            Array.set(array, i, value);
        }
        return array;
    }

    private Object list(Type type, int depth) {
        Type element = ((ParameterizedType) type).getActualTypeArguments()[0];
        Type bound = element instanceof WildcardType wild ? wild.getUpperBounds()[0] : element;
        Object[] values = new Object[random.nextInt(3)];
        for (int i = 0; i < values.length; i++) {
            values[i] = bad() ? null : of(bound, (Class<?>) bound, depth + 1);
        }
        return Arrays.asList(values);
    }

    private Object map(Type type, int depth) {
        Class<?> value = (Class<?>) ((ParameterizedType) type).getActualTypeArguments()[1];
        Map<String, Object> map = new HashMap<>();
        for (int i = random.nextInt(3); i > 0; i--) {
            map.put(bad() ? null : STRINGS.get(random.nextInt(3)), bad() ? null : of(value, value, depth + 1));
        }
        return map;
    }

    /** Calls makers of the type until one returns a value. Returns null if no maker does. */
    private Object made(Class<?> type, int depth) {
        if (OF_FILES.contains(type)) {
            return null;
        }
        List<Executable> ways = makers.computeIfAbsent(type, wanted -> PublicApi.makers(api, wanted));
        for (int trial = 0; trial < 12 && depth < DEEPEST && !ways.isEmpty(); trial++) {
            Executable way = ways.get(random.nextInt(ways.size()));
            Object value = attempt(way, depth + 1);
            if (type.isInstance(value)) {
                return value;
            }
        }
        return null;
    }

    private Object attempt(Executable way, int depth) {
        try {
            Optional<Object[]> values = all(way, depth);
            if (values.isEmpty()) {
                return null;
            }
            if (way instanceof Constructor<?> constructor) {
                return constructor.newInstance(values.get());
            }
            boolean fixed = Modifier.isStatic(way.getModifiers());
            Object receiver = fixed ? null : of(way.getDeclaringClass(), way.getDeclaringClass(), depth);
            return fixed || receiver != null ? ((Method) way).invoke(receiver, values.get()) : null;
        } catch (InvocationTargetException rejected) {
            return null; // the exception is judged when this maker is the tested call
        } catch (ReflectiveOperationException impossible) {
            throw new IllegalStateException(way.toString(), impossible);
        }
    }

    /** Returns descriptions of the arguments for a report. */
    static List<String> words(Object[] values) {
        List<String> words = new ArrayList<>();
        for (Object value : values) {
            String text = value != null && value.getClass().isArray()
                    ? Arrays.deepToString(new Object[] {value})
                    : String.valueOf(value);
            words.add(text.substring(0, Math.min(120, text.length())));
        }
        return words;
    }
}
