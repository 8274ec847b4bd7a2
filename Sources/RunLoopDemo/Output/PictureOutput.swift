/// Writes a picture to a file, or to standard output if the file is `-`.
func writePicture(_ picture: String, to file: String) -> ExitCode {
    guard file != "-" else {
        StandardOutput.write(picture)
        return .success
    }
    do throws(FileNotWritten) {
        try writeFile(picture, to: file)
        return .success
    } catch {
        StandardError.complain("\(error)")
        return .failure
    }
}
