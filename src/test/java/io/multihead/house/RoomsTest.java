package io.multihead.house;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertTrue;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.lang.ArchRule;
import java.io.IOException;
import java.lang.module.ModuleDescriptor;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.parallel.Execution;
import org.junit.jupiter.api.parallel.ExecutionMode;

/**
 * The order of packages and the permissions of each package. Each rule fails on package {@code bad} next to this test.
 */
@Execution(ExecutionMode.CONCURRENT)
class RoomsTest {
    private static final String ROOT = "io.multihead";
    private static final Path SOURCES = Path.of("src/main/java");
    private static final Path BAD_SOURCES = Path.of("src/test/java/io/multihead/house/bad");
    private static final Path CLASSES = Path.of("target/classes");
    private static final JavaClasses LIBRARY = new ClassFileImporter().importPath(CLASSES);
    private static final JavaClasses BAD = new ClassFileImporter().importPackages("io.multihead.house.bad");

    private static final House HOUSE = new House(ROOT);
    private static final House BAD_HOUSE = new House("io.multihead.house.bad");

    @Test
    void dependenciesPointDown() {
        HOUSE.dependenciesPointDown().check(LIBRARY);
        assertEquals(
                Set.of("Upward", "Neighbor", "Specification", "Unplaced", "Offences$Calls"),
                offenders(BAD_HOUSE.dependenciesPointDown()));
    }

    @Test
    void thePageHasTheFloors() throws IOException {
        assertEquals(House.levels(), levels(Files.readAllLines(Path.of("docs/architecture.md"))));
        assertEquals(
                Map.of("a.b", "3", "a.c", "3"),
                levels(List.of("| level | package |", "| 3 | `a.b`, `.c` | words |", "| x | `y` |")));
    }

    /** Reads rows that begin with a level. A name that begins with a dot has the same parent as the previous name. */
    private static Map<String, String> levels(List<String> lines) {
        Map<String, String> levels = new HashMap<>();
        for (String line : lines) {
            String[] cells = line.split("\\|");
            if (cells.length > 2 && cells[1].strip().matches("\\d+|side")) {
                String before = "";
                for (String quoted : cells[2].split(",")) {
                    String name = quoted.strip().replace("`", "");
                    name = name.startsWith(".") ? before.substring(0, before.lastIndexOf('.')) + name : name;
                    levels.put(name, cells[1].strip());
                    before = name;
                }
            }
        }
        return levels;
    }

    @Test
    void classesOfAPackageHaveNoCycles() {
        Map<String, Set<String>> mentions = Mentions.below(SOURCES);
        assertTrue(mentions.size() > 200, "read only " + mentions.size() + " classes");
        assertTrue(mentions.keySet().stream().allMatch(LIBRARY::contain), "names that are no classes");
        HOUSE.haveNoCycles(mentions).check(LIBRARY);
        assertEquals(
                Set.of(
                        "Chicken",
                        "Egg",
                        "Constants",
                        "Computes",
                        "Switches",
                        "Annotates",
                        "Joins",
                        "Imports",
                        "Qualifies"),
                offenders(BAD_HOUSE.haveNoCycles(Mentions.below(BAD_SOURCES))));
    }

    @Test
    void classesHaveFewVariables() {
        HOUSE.haveFewVariables().check(LIBRARY);
        assertEquals(Set.of("Crowded"), offenders(BAD_HOUSE.haveFewVariables()));
    }

    @Test
    void exportedSignaturesMentionExportedTypesOnly() {
        HOUSE.exportWhatTheyMention().check(LIBRARY);
        assertEquals(Set.of("Leaky"), offenders(BAD_HOUSE.exportWhatTheyMention()));
    }

    @Test
    void vectorsStayInKernels() {
        HOUSE.vectorsStayInKernels().check(LIBRARY);
        assertEquals(Set.of("Offences$Vectors"), offenders(BAD_HOUSE.vectorsStayInKernels()));
    }

    @Test
    void kernelsUseVectors() {
        HOUSE.kernelsUseVectors().check(LIBRARY);
        assertEquals(Set.of("Hidden"), offenders(BAD_HOUSE.kernelsUseVectors()));
    }

    @Test
    void passesNoVectors() {
        HOUSE.passesNoVectors().check(LIBRARY);
        assertEquals(Set.of("Passes"), offenders(BAD_HOUSE.passesNoVectors()));
    }

    @Test
    void hasOneShape() {
        HOUSE.hasOneShape().check(LIBRARY);
        assertEquals(Set.of("Shapes"), offenders(BAD_HOUSE.hasOneShape()));
    }

    /** The module descriptor is compiled separately, so the compiler does not check the sources against it. */
    @Test
    void needsNothingButJavaBase() {
        HOUSE.needsNothingButJavaBase().check(LIBRARY);
        assertEquals(Set.of("Offences$Logs"), offenders(BAD_HOUSE.needsNothingButJavaBase()));
    }

    @Test
    void leavesTheProcessAlone() {
        HOUSE.leavesTheProcessAlone().check(LIBRARY);
        assertEquals(
                Set.of("Offences$Globals", "Offences$Loads", "Offences$Forges"),
                offenders(BAD_HOUSE.leavesTheProcessAlone()));
    }

    /** The {@code AtomicFile} of package {@code bad} also creates a temporary file, which is allowed. */
    @Test
    void staysOffTheNetworkAndTemporaryFiles() {
        HOUSE.staysOffTheNetworkAndTemporaryFiles().check(LIBRARY);
        assertEquals(
                Set.of("Offences$Connects", "Offences$Listens", "Offences$Litters", "Offences$Scatters"),
                offenders(BAD_HOUSE.staysOffTheNetworkAndTemporaryFiles()));
    }

    @Test
    void computesAlikeOnEveryProcessor() {
        HOUSE.computesAlikeOnEveryProcessor().check(LIBRARY);
        assertEquals(Set.of("Offences$Rounds"), offenders(BAD_HOUSE.computesAlikeOnEveryProcessor()));
    }

    @Test
    void keepsNoStaticThreads() {
        HOUSE.keepsNoStaticThreads().check(LIBRARY);
        assertEquals(Set.of("Offences$Keeps"), offenders(BAD_HOUSE.keepsNoStaticThreads()));
    }

    @Test
    void startsThreadsInExecOnly() {
        HOUSE.startsThreadsInExecOnly().check(LIBRARY);
        assertEquals(Set.of("Offences$Starts", "Offences$Borrows"), offenders(BAD_HOUSE.startsThreadsInExecOnly()));
    }

    /** An import for Javadoc or of an inlined constant leaves no trace in the class file. */
    @Test
    void importsPointDown() {
        List<String> wrong = wrongImports(HOUSE, SOURCES);
        assertEquals(List.of(), wrong);
        assertEquals(5, wrongImports(BAD_HOUSE, BAD_SOURCES).size());
    }

    @Test
    void publicPackagesAndNoOthersAreExported() throws Exception {
        Set<String> open = LIBRARY.stream()
                .map(JavaClass::getPackageName)
                .filter(name -> !name.startsWith(ROOT + ".internal"))
                .collect(Collectors.toCollection(TreeSet::new));
        assertFalse(open.isEmpty());
        try (var descriptor = Files.newInputStream(CLASSES.resolve("module-info.class"))) {
            Set<String> exported = ModuleDescriptor.read(descriptor).exports().stream()
                    .filter(export -> !export.isQualified())
                    .map(ModuleDescriptor.Exports::source)
                    .collect(Collectors.toCollection(TreeSet::new));
            assertEquals(open, exported);
        }
    }

    private static Set<String> offenders(ArchRule rule) {
        return rule.evaluate(BAD).getFailureReport().getDetails().stream()
                .map(detail -> detail.substring(0, detail.indexOf(' ')))
                .collect(Collectors.toCollection(TreeSet::new));
    }

    private static List<String> wrongImports(House house, Path sources) {
        List<Sources.Parsed> files = Sources.below(sources);
        assertTrue(files.size() >= 5, "read only " + files.size() + " files");
        return files.stream()
                .flatMap(file -> file.unit().getImports().stream()
                        .map(tree -> tree.getQualifiedIdentifier().toString())
                        .filter(name -> !house.mayImport(file.unit().getPackageName() + ".", name))
                        .map(name -> file.name() + " imports " + name))
                .toList();
    }
}
