package io.multihead.house;

import java.lang.reflect.AnnotatedType;
import java.lang.reflect.Constructor;
import java.lang.reflect.Executable;
import java.lang.reflect.Field;
import java.lang.reflect.Member;
import java.lang.reflect.Method;
import java.lang.reflect.Modifier;
import java.util.Arrays;
import java.util.List;
import java.util.SortedSet;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.Stream;

/**
 * The signatures that a program compiles against when it uses a type. The type and each of its members have one line.
 */
final class Signatures {
    private Signatures() {}

    /** Returns the sorted lines of public types and of their visible nested types. */
    static SortedSet<String> of(List<Class<?>> types) {
        SortedSet<String> lines = new TreeSet<>();
        types.forEach(type -> add(type, lines));
        return lines;
    }

    private static void add(Class<?> type, SortedSet<String> lines) {
        String name = type.getName().replace('$', '.');
        Stream<AnnotatedType> parents = Stream.concat(
                type.isInterface() || type.isEnum() || type.isRecord()
                        ? Stream.empty()
                        : Stream.ofNullable(type.getAnnotatedSuperclass()),
                Arrays.stream(type.getAnnotatedInterfaces()));
        String permitted = type.isSealed() && !type.isEnum()
                ? Arrays.stream(type.getPermittedSubclasses())
                        .map(each -> plain(each.getName()))
                        .sorted()
                        .collect(Collectors.joining(", ", " permits ", ""))
                : "";
        lines.add(name + ": " + plain(type.toGenericString())
                + parents.map(parent -> plain(parent.toString()))
                        .filter(parent -> !parent.equals("Object"))
                        .sorted()
                        .collect(Collectors.joining(", ", " : ", ""))
                        .replaceFirst(" : $", "")
                + permitted);
        // public classes inherit the visible members of a class that programs do not see
        for (Class<?> from = type; from != null && (from == type || !isVisible(from)); from = from.getSuperclass()) {
            Stream.of(from.getDeclaredFields(), from.getDeclaredMethods())
                    .flatMap(Arrays::stream)
                    .map(Member.class::cast)
                    .filter(Signatures::isVisible)
                    .forEach(member -> lines.add(name + "." + line(member)));
        }
        for (Constructor<?> constructor : type.getDeclaredConstructors()) {
            if (isVisible(constructor)) {
                lines.add(name + ".new" + parameters(constructor) + ": " + Modifier.toString(constructor.getModifiers())
                        + thrown(constructor));
            }
        }
        Arrays.stream(type.getDeclaredClasses()).filter(Signatures::isVisible).forEach(each -> add(each, lines));
    }

    private static boolean isVisible(Member member) {
        return (member.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0 && !member.isSynthetic();
    }

    private static boolean isVisible(Class<?> type) {
        return (type.getModifiers() & (Modifier.PUBLIC | Modifier.PROTECTED)) != 0;
    }

    private static String line(Member member) {
        return switch (member) {
            case Field field ->
                field.getName() + ": " + Modifier.toString(field.getModifiers()) + " "
                        + plain(field.getAnnotatedType().toString());
            case Method method ->
                method.getName() + parameters(method) + ": "
                        + (method.isDefault() ? "default " : "")
                        // the modifiers synchronized and native do not matter to programs
                        + Modifier.toString(
                                method.getModifiers() & ~(Modifier.SYNCHRONIZED | Modifier.NATIVE | Modifier.TRANSIENT))
                        + " " + variables(method)
                        + plain(method.getAnnotatedReturnType().toString()) + thrown(method);
            default -> throw new AssertionError(member);
        };
    }

    private static String variables(Executable call) {
        return call.getTypeParameters().length == 0
                ? ""
                : Arrays.stream(call.getTypeParameters())
                        .map(variable -> variable.getName()
                                + Arrays.stream(variable.getAnnotatedBounds())
                                        .map(bound -> plain(bound.toString()))
                                        .filter(bound -> !bound.equals("Object"))
                                        .map(bound -> " extends " + bound)
                                        .collect(Collectors.joining()))
                        .collect(Collectors.joining(", ", "<", "> "));
    }

    private static String parameters(Executable call) {
        String types = Arrays.stream(call.getAnnotatedParameterTypes())
                .map(type -> plain(type.toString()))
                .collect(Collectors.joining(", "));
        return "(" + (call.isVarArgs() ? types.substring(0, types.length() - 2) + "..." : types) + ")";
    }

    private static String thrown(Executable call) {
        return Arrays.stream(call.getGenericExceptionTypes())
                .map(type -> plain(type.getTypeName()))
                .sorted()
                .collect(Collectors.joining(", ", " throws ", ""))
                .replaceFirst(" throws $", "");
    }

    /** Omits the package that every source file imports, and the packages of annotations. */
    private static String plain(String type) {
        return type.replace('$', '.')
                .replace("@org.jspecify.annotations.Nullable()", "@Nullable")
                .replaceAll("\\bjava\\.lang\\.(?=[@A-Z])", "");
    }
}
