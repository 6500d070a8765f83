package io.multihead.house;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;

import com.tngtech.archunit.core.domain.Dependency;
import com.tngtech.archunit.core.domain.JavaAccess;
import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaField;
import com.tngtech.archunit.core.domain.JavaMethod;
import com.tngtech.archunit.core.domain.JavaModifier;
import com.tngtech.archunit.lang.ArchCondition;
import com.tngtech.archunit.lang.ArchRule;
import com.tngtech.archunit.lang.ConditionEvents;
import com.tngtech.archunit.lang.SimpleConditionEvent;
import java.util.ArrayDeque;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.Executor;
import java.util.function.Function;
import java.util.stream.Stream;

/**
 * The architecture rules for the packages below a root package, here called rooms. The root is a parameter, so that the
 * same rules also run on a package that breaks them.
 */
final class House {
    /** Levels of packages from the lowest one up. Packages of one level do not depend on each other. */
    private static final List<List<String>> FLOORS = List.of(
            List.of("internal.base", "internal.text.unicode", "internal.text.pairs"),
            List.of("tensor", "internal.text.words", "internal.text.unigram", "internal.text.wordpiece"),
            List.of("internal.kernel", "reference", "format", "text"),
            List.of("internal.layout", "internal.template", "internal.toolcall", "grammar"),
            List.of("internal.exec", "internal.gemm"),
            List.of("compute"),
            List.of("internal.call"),
            List.of("internal.attention", "internal.nn", "internal.position"),
            List.of("internal.attention.mask", "internal.attention.keyvalue"),
            List.of("internal.attention.forward", "internal.attention.backward"),
            List.of("gemm", "attention", "position"),
            List.of("cache"),
            List.of("model"),
            List.of("nn", "internal.load"),
            List.of("nn.attention", "internal.encoder.layer"),
            List.of("internal.encoder.family"),
            List.of("internal.encoder.load"),
            List.of("internal.encoder.run"),
            List.of("analysis", "encoder", "decoder", "train"),
            List.of("langchain4j"));

    /**
     * Packages outside the order of levels. They depend only on tensors and the checks of arguments. Package text also
     * depends on the packages below it, and on the format of tokenizer files.
     */
    private static final Set<String> SIDE = Set.of(
            "reference",
            "format",
            "text",
            "internal.text.unicode",
            "internal.text.pairs",
            "internal.text.words",
            "internal.text.unigram",
            "internal.text.wordpiece");

    /** Returns the table of docs/architecture.md, which maps each package to its level, or to "side". */
    static Map<String, String> levels() {
        Map<String, String> levels = new HashMap<>();
        for (int floor = 0; floor < FLOORS.size(); floor++) {
            for (String room : FLOORS.get(floor)) {
                levels.put(room, SIDE.contains(room) ? "side" : String.valueOf(floor));
            }
        }
        return levels;
    }

    private static final String INTERNAL_TEXT = "internal.text.";

    /** Libraries other than the JDK that a package may use, because the users of the package already have them. */
    private static final Map<String, String> OPTIONAL = Map.of("langchain4j", "dev.langchain4j.");

    private static final Set<String> THREADS = Set.of(
            "java.lang.Thread",
            "java.util.concurrent.Executors",
            "java.util.concurrent.ForkJoinPool",
            "java.util.concurrent.CompletableFuture",
            "java.util.Timer");

    /** The class that writes complete files or none. */
    private static final String ATOMIC_FILE = "internal.base.AtomicFile";

    private static final int MAX_VARIABLES = 12;

    private final String root;

    /** @param root the root package */
    House(String root) {
        this.root = root + ".";
    }

    ArchRule dependenciesPointDown() {
        return rule("are in the table and depend on lower levels only", type -> {
            if (room(type.getPackageName() + ".").isEmpty()) {
                return Stream.of("is in no package of the table: " + type.getPackageName());
            }
            return targets(type)
                    .map(JavaClass::getPackageName)
                    .filter(target -> !mayUse(type.getPackageName() + ".", target + "."));
        });
    }

    /**
     * Classes of one package depend on each other in one direction; a nested class counts as its outermost class.
     *
     * @param mentions the names in sources, by class. Sources have more names than class files ({@link Mentions}).
     */
    ArchRule haveNoCycles(Map<String, Set<String>> mentions) {
        return rule("not depend on each other in a cycle within a package", type -> {
            boolean outermost = type.getName().equals(outermost(type));
            Set<String> reached = outermost ? reachable(type, mentions) : Set.of();
            return reached.contains(type.getName()) ? Stream.of("depends on itself") : Stream.empty();
        });
    }

    /** The outermost classes of the same package that a class depends on, directly or through others. */
    private static Set<String> reachable(JavaClass type, Map<String, Set<String>> mentions) {
        Map<String, Set<String>> needs = new HashMap<>();
        for (JavaClass each : type.getPackage().getClasses()) {
            String from = outermost(each);
            Stream<String> used = targets(each)
                    .filter(target -> target.getPackageName().equals(type.getPackageName()))
                    .map(House::outermost);
            Stream.concat(used, mentions.getOrDefault(from, Set.of()).stream())
                    .filter(target -> !target.equals(from))
                    .forEach(target ->
                            needs.computeIfAbsent(from, key -> new TreeSet<>()).add(target));
        }
        Set<String> reached = new TreeSet<>();
        Deque<String> open = new ArrayDeque<>(needs.getOrDefault(type.getName(), Set.of()));
        while (!open.isEmpty()) {
            String next = open.pop();
            if (reached.add(next)) {
                open.addAll(needs.getOrDefault(next, Set.of()));
            }
        }
        return reached;
    }

    private static String outermost(JavaClass type) {
        int nested = type.getName().indexOf('$');
        return nested < 0 ? type.getName() : type.getName().substring(0, nested);
    }

    /** A class with more state than this should be two classes. */
    ArchRule haveFewVariables() {
        return rule("have at most " + MAX_VARIABLES + " fields that are not final", type -> {
            long variables = type.getFields().stream()
                    .filter(field -> !field.getModifiers().contains(JavaModifier.STATIC))
                    .filter(field -> !field.getModifiers().contains(JavaModifier.FINAL))
                    .count();
            return variables > MAX_VARIABLES ? Stream.of(variables + " fields") : Stream.empty();
        });
    }

    /** Exported signatures mention exported types only. */
    ArchRule exportWhatTheyMention() {
        return rule("mention exported types only in exported signatures", type -> {
            boolean exported = !isInternal(type) && type.getModifiers().contains(JavaModifier.PUBLIC);
            return exported ? signatures(type).filter(this::isInternal).map(JavaClass::getName) : Stream.empty();
        });
    }

    private boolean isInternal(JavaClass type) {
        return (type.getPackageName() + ".").startsWith(root + "internal.");
    }

    private static Stream<JavaClass> signatures(JavaClass type) {
        Stream<JavaClass> parents = Stream.concat(type.getRawSuperclass().stream(), type.getRawInterfaces().stream());
        Stream<JavaClass> fields = type.getFields().stream()
                .filter(field -> isVisible(field.getModifiers()))
                .map(JavaField::getRawType);
        Stream<JavaClass> calls = type.getCodeUnits().stream()
                .filter(unit -> isVisible(unit.getModifiers()))
                .flatMap(unit ->
                        Stream.concat(unit.getRawParameterTypes().stream(), Stream.of(unit.getRawReturnType())));
        return Stream.of(parents, fields, calls).flatMap(each -> each).map(JavaClass::getBaseComponentType);
    }

    private static boolean isVisible(Set<JavaModifier> modifiers) {
        return modifiers.contains(JavaModifier.PUBLIC) || modifiers.contains(JavaModifier.PROTECTED);
    }

    ArchRule vectorsStayInKernels() {
        return rule("leave vectors to internal.kernel", type -> targets(type)
                .map(JavaClass::getName)
                .filter(target -> target.startsWith("jdk.incubator.vector."))
                .filter(target -> !mayImport(type.getPackageName() + ".", target)));
    }

    /** Loops, packing and bookkeeping are in separate levels of packages. */
    ArchRule kernelsUseVectors() {
        return rule("keep files without vectors out of internal.kernel", type -> {
            boolean kernel = room(type.getPackageName() + ".")
                    .filter("internal.kernel"::equals)
                    .isPresent();
            boolean counts =
                    kernel && type.isTopLevelClass() && !type.getSimpleName().equals("package-info");
            boolean uses = targets(type).anyMatch(target -> target.getName().startsWith("jdk.incubator.vector."));
            return counts && !uses ? Stream.of("no vectors") : Stream.empty();
        });
    }

    /**
     * Kernels take their species from Lanes: after a JVM has used vectors of one element type in two shapes, C2 may not know the shape that
     * a conversion returns, and then allocates an object for each vector permanently.
     */
    ArchRule hasOneShape() {
        return rule(
                "take vectors of one shape from Lanes",
                type -> type.getSimpleName().equals("Lanes")
                        ? Stream.empty()
                        : type.getAccessesFromSelf().stream()
                                .filter(access ->
                                        access.getTargetOwner().getName().startsWith("jdk.incubator.vector."))
                                .filter(access -> access.getName().startsWith("SPECIES_")
                                        || access.getName().matches("of|ofPreferred|ofLargestShape|withShape"))
                                .map(access -> access.getTargetOwner().getSimpleName() + "." + access.getName()));
    }

    /**
     * C2 does not inline all methods of a large compilation, and a vector that is passed to such a method becomes an
     * object.
     */
    ArchRule passesNoVectors() {
        return rule("keep each vector in one method", type -> type.getMethods().stream()
                .filter(method -> Stream.concat(
                                method.getRawParameterTypes().stream(), Stream.of(method.getRawReturnType()))
                        .anyMatch(House::isVector))
                .map(JavaMethod::getName));
    }

    private static boolean isVector(JavaClass type) {
        return type.getName().matches("jdk\\.incubator\\.vector\\.\\w*Vector(Mask)?");
    }

    ArchRule needsNothingButJavaBase() {
        return rule("depend on java.base, vectors and flight recording only", type -> targets(type)
                .filter(target -> !target.isPrimitive()
                        && !(target.getPackageName() + ".").startsWith(root)
                        && !target.getPackageName().startsWith("org.jspecify.")
                        && !target.getPackageName().startsWith("jdk.incubator.vector")
                        && !target.getPackageName().startsWith("jdk.jfr")
                        && !isOptional(type.getPackageName() + ".", target.getPackageName() + ".")
                        && !inJavaBase(target.getName()))
                .map(JavaClass::getName));
    }

    private boolean isOptional(String fromPackage, String toPackage) {
        return room(fromPackage)
                .map(OPTIONAL::get)
                .filter(toPackage::startsWith)
                .isPresent();
    }

    ArchRule leavesTheProcessAlone() {
        return rule(
                "set no property, load no native code and reinterpret no memory",
                type -> Stream.concat(
                        accesses(type, House::isForbidden),
                        type.getMethods().stream()
                                .filter(method -> method.getModifiers().contains(JavaModifier.NATIVE))
                                .map(method -> "native " + method.getName())));
    }

    /**
     * The library uses neither the network nor files that the caller did not pass. A temporary file is in the same
     * folder as the file that it becomes.
     */
    ArchRule staysOffTheNetworkAndTemporaryFiles() {
        return rule("use no java.net, and create temporary files in internal.base.AtomicFile only", type -> {
            Stream<String> network = targets(type)
                    .map(JavaClass::getName)
                    .filter(name -> name.startsWith("java.net.")
                            || name.startsWith("java.nio.channels.")
                                    && name.matches(".*(Socket|Datagram|Multicast|Network)\\w*"));
            boolean allowed = outermost(type).equals(root + ATOMIC_FILE);
            return Stream.concat(network, allowed ? Stream.empty() : accesses(type, House::createsTemporaryFile));
        });
    }

    /**
     * The functions of {@code Math} may differ between processors by a unit in the last place. The functions of
     * {@code StrictMath} do not differ.
     */
    ArchRule computesAlikeOnEveryProcessor() {
        return rule("take functions from StrictMath, except in the specification", type -> {
            boolean specifies = room(type.getPackageName() + ".")
                    .filter("reference"::equals)
                    .isPresent();
            return specifies ? Stream.empty() : accesses(type, House::roundsByProcessor);
        });
    }

    ArchRule keepsNoStaticThreads() {
        return rule("have no static field for threads", type -> type.getFields().stream()
                .filter(field -> field.getModifiers().contains(JavaModifier.STATIC))
                .filter(field -> isThreadKeeper(field.getRawType().getBaseComponentType()))
                .map(JavaField::getName));
    }

    ArchRule startsThreadsInExecOnly() {
        return rule("leave threads to internal.exec", type -> {
            boolean allowed = room(type.getPackageName() + ".")
                    .filter("internal.exec"::equals)
                    .isPresent();
            // the thread of this class runs when the JVM ends
            boolean deletes = type.getSimpleName().equals("AtomicFile");
            return allowed || deletes ? Stream.empty() : accesses(type, House::startsThreads);
        });
    }

    /**
     * Returns whether a source file of a package may import a name, which is given without {@code import} and
     * {@code static}.
     */
    boolean mayImport(String fromPackage, String name) {
        if (name.startsWith("jdk.incubator.vector.")) {
            return room(fromPackage).filter("internal.kernel"::equals).isPresent();
        }
        return mayUse(fromPackage, name);
    }

    private boolean mayUse(String fromPackage, String toPackage) {
        if (!toPackage.startsWith(root)) {
            return true;
        }
        Optional<String> from = room(fromPackage);
        Optional<String> to = room(toPackage);
        if (from.isEmpty() || to.isEmpty()) {
            return false;
        }
        if (from.equals(to)) {
            return true;
        }
        boolean below = floor(to.get()) < floor(from.get());
        if (SIDE.contains(from.get())) {
            return to.get().equals("tensor")
                    || to.get().equals("internal.base")
                    || from.get().equals("text") && to.get().equals("format")
                    || below && isText(from.get()) && isText(to.get());
        }
        return !to.get().equals("reference") && !to.get().startsWith(INTERNAL_TEXT) && below;
    }

    private static boolean isText(String room) {
        return room.equals("text") || room.startsWith(INTERNAL_TEXT);
    }

    /** Returns the room of a name below the root. Packages inside a room belong to it. */
    private Optional<String> room(String name) {
        return FLOORS.stream()
                .flatMap(List::stream)
                .filter(room -> name.startsWith(root + room + "."))
                .max(Comparator.comparingInt(String::length));
    }

    private static int floor(String room) {
        int floor = 0;
        while (!FLOORS.get(floor).contains(room)) {
            floor++;
        }
        return floor;
    }

    private static boolean isForbidden(JavaAccess<?> access) {
        String owner = access.getTargetOwner().getName();
        String name = access.getTarget().getName();
        return switch (owner) {
            case "java.lang.System" ->
                Set.of("setProperty", "setProperties", "clearProperty", "load", "loadLibrary")
                        .contains(name);
            case "java.lang.Runtime" -> Set.of("load", "loadLibrary").contains(name);
            case "java.lang.foreign.MemorySegment" ->
                Set.of("reinterpret", "ofAddress").contains(name);
            case "java.lang.foreign.Linker", "java.lang.foreign.SymbolLookup", "sun.misc.Unsafe" -> true;
            default -> false;
        };
    }

    private static boolean createsTemporaryFile(JavaAccess<?> access) {
        String owner = access.getTargetOwner().getName();
        return Set.of("java.io.File", "java.nio.file.Files").contains(owner)
                && Set.of("createTempFile", "createTempDirectory", "deleteOnExit")
                        .contains(access.getTarget().getName());
    }

    private static boolean startsThreads(JavaAccess<?> access) {
        String owner = access.getTargetOwner().getName();
        String name = access.getTarget().getName();
        if (owner.equals("java.lang.Thread")) {
            return !Set.of("currentThread", "onSpinWait", "interrupted", "isInterrupted")
                    .contains(name);
        }
        return THREADS.contains(owner)
                || name.startsWith("parallel") && owner.startsWith("java.util.")
                || access.getTargetOwner().isAssignableTo(Thread.class);
    }

    private static boolean isThreadKeeper(JavaClass type) {
        return type.isAssignableTo(Thread.class)
                || type.isAssignableTo(Executor.class)
                || type.isAssignableTo(ThreadLocal.class)
                || type.isAssignableTo(java.util.Timer.class);
    }

    private static boolean inJavaBase(String name) {
        try {
            return name.startsWith("java.") && Class.forName(name, false, null).getModule() == Object.class.getModule();
        } catch (ClassNotFoundException e) {
            return false;
        }
    }

    private static Stream<JavaClass> targets(JavaClass type) {
        return type.getDirectDependenciesFromSelf().stream()
                .map(Dependency::getTargetClass)
                .map(JavaClass::getBaseComponentType)
                .distinct();
    }

    private static boolean roundsByProcessor(JavaAccess<?> access) {
        String functions = "exp|expm1|log|log10|log1p|pow|sin|cos|tan|asin|acos|atan|atan2|sinh|cosh|tanh|cbrt|hypot";
        return access.getTargetOwner().getName().equals("java.lang.Math")
                && access.getTarget().getName().matches(functions);
    }

    private static Stream<String> accesses(JavaClass type, java.util.function.Predicate<JavaAccess<?>> wanted) {
        return type.getAccessesFromSelf().stream().filter(wanted).map(JavaAccess::getDescription);
    }

    /** A rule whose violations start with the simple name of the class that breaks it. */
    private static ArchRule rule(String description, Function<JavaClass, Stream<String>> violations) {
        return classes().should(new ArchCondition<>(description) {
            @Override
            public void check(JavaClass type, ConditionEvents events) {
                String name = type.getName().substring(type.getPackageName().length() + 1);
                violations
                        .apply(type)
                        .forEach(text -> events.add(
                                SimpleConditionEvent.violated(type, name + " (" + type.getName() + "): " + text)));
            }
        });
    }
}
