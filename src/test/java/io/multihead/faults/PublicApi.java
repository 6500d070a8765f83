package io.multihead.faults;

import io.multihead.tensor.Tensor;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.net.URISyntaxException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;
import java.util.stream.Stream;

/** Finds every public constructor and method of the exported packages, except {@link #OTHERS}, in the compiled classes. */
final class PublicApi {
    private static final String ROOT = "io.multihead.";

    /**
     * Exported packages whose objects are created from model files, which random arguments cannot replace. Targets of {@code src/it/fuzz}
     * read damaged files with {@code encoder} and {@code text}, and {@code langchain4j} wraps {@code encoder}.
     */
    private static final Set<String> OTHERS = Set.of("encoder", "langchain4j", "text");

    private static final Set<String> OBJECT_METHODS =
            Set.of("equals", "hashCode", "toString", "values", "valueOf", "compareTo", "getMessage");

    private PublicApi() {}

    /** Returns the executables in an order that does not depend on the file system. */
    static List<Executable> executables() {
        List<Executable> found = new ArrayList<>();
        for (Class<?> type : types()) {
            Constructor<?>[] constructors =
                    Modifier.isAbstract(type.getModifiers()) ? new Constructor<?>[0] : type.getConstructors();
            Stream.concat(Arrays.stream(constructors), Arrays.stream(type.getDeclaredMethods()))
                    .filter(member -> Modifier.isPublic(member.getModifiers()))
                    .filter(member -> !member.isSynthetic() && !OBJECT_METHODS.contains(member.getName()))
                    .sorted(Comparator.comparing(Executable::toGenericString))
                    .forEach(found::add);
        }
        return found;
    }

    /** Returns the public types, including nested types. */
    static List<Class<?>> types() {
        try {
            Path root = Path.of(Tensor.class
                    .getProtectionDomain()
                    .getCodeSource()
                    .getLocation()
                    .toURI());
            try (Stream<Path> files = Files.walk(root)) {
                List<Class<?>> types = new ArrayList<>();
                files.map(file -> root.relativize(file).toString())
                        .filter(name -> name.endsWith(".class") && !name.contains("-info"))
                        .map(name -> name.substring(0, name.length() - 6).replace('/', '.'))
                        .filter(PublicApi::isExported)
                        .sorted()
                        .forEach(name -> types.add(load(name)));
                types.removeIf(type -> !isPublic(type));
                return types;
            }
        } catch (IOException unreadable) {
            throw new UncheckedIOException(unreadable);
        } catch (URISyntaxException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /**
     * Returns whether a class is in an exported package that is tested. RoomsTest asserts that all packages except internal ones are
     * exported.
     */
    private static boolean isExported(String name) {
        String below = name.substring(ROOT.length(), Math.max(ROOT.length(), name.lastIndexOf('.')));
        return !below.startsWith("internal.") && !OTHERS.contains(below);
    }

    private static boolean isPublic(Class<?> type) {
        boolean visible = Modifier.isPublic(type.getModifiers());
        return visible && (type.getDeclaringClass() == null || isPublic(type.getDeclaringClass()));
    }

    private static Class<?> load(String name) {
        try {
            return Class.forName(name);
        } catch (ClassNotFoundException impossible) {
            throw new IllegalStateException(impossible);
        }
    }

    /** Returns the makers of values of a type: its constructors, and the methods that return it. */
    static List<Executable> makers(List<Executable> all, Class<?> type) {
        List<Executable> makers = new ArrayList<>();
        for (Executable member : all) {
            Class<?> made = member instanceof Method method ? method.getReturnType() : member.getDeclaringClass();
            boolean own = !(member instanceof Method)
                    || Modifier.isStatic(member.getModifiers())
                    || !type.isAssignableFrom(member.getDeclaringClass());
            if (type.isAssignableFrom(made) && own) {
                makers.add(member);
            }
        }
        return makers;
    }
}
