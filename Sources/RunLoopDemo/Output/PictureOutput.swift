/// Writes a picture to a file, or to standard output if the file is `-`.
func writePicture(_ picture: String, to file: String) -> ExitCode {
    guard file != "-" else {
        StandardOutput.write(picture)
        return .success
    }
    let error = writeFile(picture, to: file)
    guard error != 0 else { return .success }
    StandardError.complain("cannot write \(file.debugDescription): \(String(cString: strerror(error)))")
    return .failure
}
