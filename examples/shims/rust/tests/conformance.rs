fn main() -> std::process::ExitCode {
    groupproof_testing::conformance(&[env!("CARGO_BIN_EXE_shim")])
}
