import java.io.IOException;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.ArrayList;
import java.util.HexFormat;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.zip.ZipEntry;
import java.util.zip.ZipFile;
import java.util.zip.ZipOutputStream;
import javax.xml.parsers.DocumentBuilderFactory;
import javax.xml.xpath.XPathFactory;
import org.w3c.dom.Document;

/**
 * Checks the files of {@code mvn -Prelease} against the requirements of Maven Central, and writes {@code target/central.zip}, the bundle
 * for its portal: every file in the layout of a repository, with checksums, and with its signature if files were
 * signed. The arguments are the folder of the build, group, artifact and version.
 */
public final class Release {
    private static final List<String> POM = List.of(
            "name",
            "description",
            "url",
            "licenses/license/name",
            "licenses/license/url",
            "developers/developer/name",
            "developers/developer/email",
            "scm/connection",
            "scm/developerConnection",
            "scm/url");

    private final List<String> faults = new ArrayList<>();

    private Release() {}

    public static void main(String[] arguments) throws Exception {
        new Release().check(Path.of(arguments[0]), arguments[1], arguments[2], arguments[3]);
    }

    private void check(Path target, String group, String artifact, String version) throws Exception {
        String base = artifact + "-" + version;
        Map<String, Path> files = new LinkedHashMap<>();
        files.put(base + ".pom", target.resolve("published.pom"));
        for (String suffix : List.of(".jar", "-sources.jar", "-javadoc.jar")) {
            files.put(base + suffix, target.resolve(base + suffix));
        }
        files.put(base + "-cyclonedx.json", target.resolve("bom.json"));
        files.put(base + "-cyclonedx.xml", target.resolve("bom.xml"));
        files.forEach((name, file) -> require(Files.isRegularFile(file), name + " was not made: no file " + file));
        end();
        checkPom(files.get(base + ".pom"), group, artifact, version);
        checkEntry(files.get(base + ".jar"), "module-info.class");
        checkEntry(files.get(base + ".jar"), "META-INF/LICENSE");
        checkEntry(files.get(base + "-sources.jar"), "module-info.java");
        checkEntry(files.get(base + "-javadoc.jar"), "index.html");
        Map<String, Path> signatures = signatures(target, files);
        end();
        files.putAll(signatures);
        write(target.resolve("central.zip"), group.replace('.', '/') + "/" + artifact + "/" + version + "/", files);
        System.out.println(target.resolve("central.zip") + ": " + files.size() + " files of " + group + ":" + artifact
                + ":" + version
                + ", all that Maven Central requires"
                + (signatures.isEmpty() ? " but signatures: set -Dgpg.keyname=KEY" : ", signed")
                + (version.endsWith("-SNAPSHOT") ? "; it refuses versions with -SNAPSHOT" : ""));
    }

    private void checkPom(Path file, String group, String artifact, String version) throws Exception {
        Document pom = DocumentBuilderFactory.newInstance().newDocumentBuilder().parse(file.toFile());
        for (String element : POM) {
            String value = text(pom, element);
            require(!value.isEmpty() && !value.contains("${"), "the pom has no valid " + element + ": '" + value + "'");
        }
        require(text(pom, "groupId").equals(group), "the pom's groupId is not " + group);
        require(text(pom, "artifactId").equals(artifact), "the pom's artifactId is not " + artifact);
        require(text(pom, "version").equals(version), "the pom's version is not " + version);
        String needed = text(
                pom, "dependencies/dependency[not(optional='true' or scope='provided' or scope='test')]/artifactId");
        require(needed.isEmpty(), "the pom makes users depend on " + needed);
    }

    private static String text(Document pom, String path) throws Exception {
        return XPathFactory.newInstance()
                .newXPath()
                .evaluate("/project/" + path, pom)
                .strip();
    }

    private void checkEntry(Path jar, String entry) throws IOException {
        try (ZipFile zip = new ZipFile(jar.toFile())) {
            require(
                    zip.stream().anyMatch(each -> each.getName().equals(entry)),
                    jar.getFileName() + " has no entry " + entry);
        }
    }

    /**
     * Returns the signatures of the gpg plugin. A signature is next to its file. The signature of the pom has the name
     * of the artifact. All files have a signature, or no file has one.
     */
    private Map<String, Path> signatures(Path target, Map<String, Path> files) {
        Map<String, Path> found = new LinkedHashMap<>();
        files.forEach((name, file) -> {
            for (Path each : List.of(file.resolveSibling(file.getFileName() + ".asc"), target.resolve(name + ".asc"))) {
                if (Files.isRegularFile(each)) {
                    found.put(name + ".asc", each);
                }
            }
        });
        files.keySet()
                .forEach(name -> require(
                        found.isEmpty() || found.containsKey(name + ".asc"),
                        name + " has no signature, but other files have one"));
        return found;
    }

    private static void write(Path bundle, String folder, Map<String, Path> files) throws IOException {
        try (OutputStream out = Files.newOutputStream(bundle);
                ZipOutputStream zip = new ZipOutputStream(out)) {
            for (Map.Entry<String, Path> file : files.entrySet()) {
                byte[] bytes = Files.readAllBytes(file.getValue());
                entry(zip, folder + file.getKey(), bytes);
                if (!file.getKey().endsWith(".asc")) {
                    entry(zip, folder + file.getKey() + ".md5", checksum("MD5", bytes));
                    entry(zip, folder + file.getKey() + ".sha1", checksum("SHA-1", bytes));
                }
            }
        }
    }

    private static void entry(ZipOutputStream zip, String name, byte[] bytes) throws IOException {
        zip.putNextEntry(new ZipEntry(name));
        zip.write(bytes);
        zip.closeEntry();
    }

    private static byte[] checksum(String algorithm, byte[] bytes) {
        try {
            return HexFormat.of()
                    .formatHex(MessageDigest.getInstance(algorithm).digest(bytes))
                    .getBytes(StandardCharsets.US_ASCII);
        } catch (NoSuchAlgorithmException absent) {
            throw new IllegalStateException(absent);
        }
    }

    private void require(boolean holds, String fault) {
        if (!holds) {
            faults.add(fault);
        }
    }

    private void end() {
        if (!faults.isEmpty()) {
            faults.forEach(fault -> System.err.println("release: " + fault));
            System.exit(1);
        }
    }
}
