package io.multihead.house;

import static com.tngtech.archunit.base.DescribedPredicate.not;
import static com.tngtech.archunit.core.domain.JavaClass.Predicates.resideInAnyPackage;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noFields;
import static org.junit.jupiter.api.Assertions.assertFalse;
import static org.junit.jupiter.api.Assertions.assertThrows;

import com.tngtech.archunit.core.domain.JavaClasses;
import com.tngtech.archunit.core.importer.ClassFileImporter;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.lang.ArchRule;
import java.lang.foreign.MemorySegment;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.Executor;
import java.util.stream.Stream;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestFactory;

/** The order of rooms: an import only ever points to a lower floor. */
class RoomsTest {
    private static final String ROOT = "io.multihead.";

    /** Floors from the ground up; rooms on one floor are neighbours that do not know each other. */
    private static final List<List<String>> FLOORS = List.of(
            List.of("internal"),
            List.of("tensor"),
            List.of("internal.kernel", "reference", "format"),
            List.of("compute"),
            List.of("gemm", "attention"),
            List.of("position", "cache"),
            List.of("nn"),
            List.of("analysis"));

    private static final JavaClasses LIBRARY = new ClassFileImporter()
            .withImportOption(ImportOption.Predefined.DO_NOT_INCLUDE_TESTS)
            .withImportOption(location -> !location.contains("/demo/"))
            .importPackages("io.multihead");

    @TestFactory
    Stream<DynamicTest> importsPointDownwards() {
        return FLOORS.stream()
                .flatMap(List::stream)
                .map(room -> DynamicTest.dynamicTest(room, () -> rule(room).check(LIBRARY)));
    }

    @Test
    void theLibraryWasRead() {
        assertFalse(LIBRARY.isEmpty());
    }

    @Test
    void theRuleCanFail() {
        JavaClasses tests = new ClassFileImporter().importClasses(RoomsTest.class);
        ArchRule rule = noClasses()
                .that()
                .resideInAPackage(ROOT + "house")
                .should()
                .dependOnClassesThat(resideInAnyPackage("com.tngtech.."));
        assertThrows(AssertionError.class, () -> rule.check(tests));
    }

    @Test
    void onlyKernelsKnowVectors() {
        noClasses()
                .that(not(resideInAnyPackage(ROOT + "internal.kernel")))
                .should()
                .dependOnClassesThat(resideInAnyPackage("jdk.incubator.vector.."))
                .check(LIBRARY);
    }

    @Test
    void theSpecificationIsNeverCalled() {
        noClasses()
                .that(not(resideInAnyPackage(ROOT + "reference")))
                .should()
                .dependOnClassesThat(resideInAnyPackage(ROOT + "reference"))
                .check(LIBRARY);
    }

    @Test
    void nothingOutsideTheJdkIsNeeded() {
        noClasses()
                .should()
                .dependOnClassesThat(
                        not(resideInAnyPackage("java..", "jdk.incubator.vector..", "io.multihead..", "org.jspecify..")))
                .check(LIBRARY);
    }

    @Test
    void noGlobalSideEffects() {
        noClasses()
                .should()
                .callMethod(System.class, "setProperty", String.class, String.class)
                .check(LIBRARY);
        noClasses()
                .should()
                .callMethod(System.class, "loadLibrary", String.class)
                .check(LIBRARY);
        noClasses()
                .should()
                .callMethod(MemorySegment.class, "reinterpret", long.class)
                .check(LIBRARY);
        noClasses()
                .should()
                .callMethod(MemorySegment.class, "ofAddress", long.class)
                .check(LIBRARY);
        noFields().that().areStatic().should().haveRawType(Executor.class).check(LIBRARY);
    }

    private static ArchRule rule(String room) {
        List<String> forbidden = new ArrayList<>();
        for (List<String> floor : FLOORS.subList(floorOf(room), FLOORS.size())) {
            floor.stream().filter(other -> !other.equals(room)).forEach(forbidden::add);
        }
        // the side rooms stand on tensor alone
        if (room.equals("reference") || room.equals("format")) {
            forbidden.add("internal.kernel");
        }
        return noClasses()
                .that()
                .resideInAPackage(ROOT + room)
                .should()
                .dependOnClassesThat(resideInAnyPackage(
                        forbidden.stream().map(name -> ROOT + name).toArray(String[]::new)))
                .allowEmptyShould(true)
                .because("floors are " + Arrays.toString(FLOORS.toArray()));
    }

    private static int floorOf(String room) {
        for (int floor = 0; floor < FLOORS.size(); floor++) {
            if (FLOORS.get(floor).contains(room)) {
                return floor;
            }
        }
        throw new IllegalArgumentException(room);
    }
}
