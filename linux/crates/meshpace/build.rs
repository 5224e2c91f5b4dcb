// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF programs into an object that the program carries, and makes the law in core/
//! callable from Rust: the same headers for both.
use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::Command;

use anyhow::{ensure, Context, Result};
use libbpf_cargo::SkeletonBuilder;

fn main() -> Result<()> {
    let linux = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let core = linux.join("../core/include");
    let bpf = linux.join("bpf");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", core.display());
    println!("cargo:rerun-if-changed={}", bpf.display());
    let headers = kernel_headers()?;
    for program in ["gateway", "sender"] {
        compile_bpf(program, &bpf, &core, &headers, &out)?;
    }
    bind_law(&bpf, &core, &out)
}

fn compile_bpf(
    program: &str,
    bpf: &Path,
    core: &Path,
    headers: &[PathBuf],
    out: &Path,
) -> Result<()> {
    // The kernel takes programs of its own byte order only; clang's "bpf" alone is this machine's.
    let order = std::env::var("CARGO_CFG_TARGET_ENDIAN")?;
    let told = order_macro(&std::env::var("CARGO_CFG_TARGET_ARCH")?, &order);
    let own = [
        "-mcpu=v3",
        "-ffreestanding",
        "-nostdlibinc",
        "-Wall",
        "-Werror",
    ];
    let mut arguments: Vec<OsString> = own.map(OsString::from).into();
    arguments.extend([format!("-m{order}-endian").into(), "-I".into(), core.into()]);
    arguments.extend(told.map(|name| format!("-D{name}").into()));
    for folder in headers {
        arguments.extend(["-idirafter".into(), folder.into()]);
    }
    SkeletonBuilder::new()
        .source(bpf.join(format!("{program}.bpf.c")))
        .obj(out.join(format!("{program}.bpf.o")))
        .clang_args(arguments)
        .build()
        .with_context(|| {
            format!(
                "compiling linux/bpf/{program}.bpf.c (needed: clang, and the kernel's headers for the target's C \
                 compiler, such as linux-libc-dev, or in a folder that {HEADERS} names)"
            )
        })
}

/// By what the processor's own <asm/byteorder.h> knows its byte order, where that is a macro which its C compiler
/// defines and clang for BPF does not.
fn order_macro(processor: &str, order: &str) -> Option<&'static str> {
    match (processor.trim_end_matches("64"), order) {
        ("mips", "big") => Some("__MIPSEB__"),
        ("mips", _) => Some("__MIPSEL__"),
        ("arm", "big") => Some("__ARMEB__"),
        ("aarch", "big") => Some("__AARCH64EB__"),
        _ => None,
    }
}

/// Folders with <linux/bpf.h> and the processor's <asm/types.h>, by colons.
const HEADERS: &str = "MESHPACE_KERNEL_HEADERS";

/// As that says, else where the target's C compiler looks: systems and toolchains keep them in different places.
fn kernel_headers() -> Result<Vec<PathBuf>> {
    println!("cargo:rerun-if-env-changed={HEADERS}");
    if let Some(named) = std::env::var_os(HEADERS) {
        return Ok(std::env::split_paths(&named).collect());
    }
    let compiler = cc::Build::new().get_compiler();
    let told = compiler
        .to_command()
        .env("LC_ALL", "C")
        .args(["-E", "-v", "-x", "c", "/dev/null"])
        .output()
        .with_context(|| {
            let name = compiler.path().display();
            format!("asking {name} where headers are (a C compiler for the target is needed, or {HEADERS})")
        })?;
    let told = String::from_utf8_lossy(&told.stderr);
    let from = told
        .lines()
        .skip_while(|line| !line.starts_with("#include <...>"));
    let folders: Vec<_> = from
        .skip(1)
        .take_while(|line| line.starts_with(' '))
        .map(|line| PathBuf::from(line.trim()))
        .collect();
    ensure!(
        !folders.is_empty(),
        "{} -E -v names no folders of headers; set {HEADERS}",
        compiler.path().display()
    );
    Ok(folders)
}

/// <stdint.h> and <stdbool.h> as clang itself has them: libclang alone does not always find them.
fn clangs_headers() -> Result<String> {
    let told = Command::new("clang").arg("-print-resource-dir").output();
    let told = told.context("clang (it is needed, for BPF)")?;
    let folder = String::from_utf8(told.stdout).context("clang -print-resource-dir")?;
    Ok(format!("{}/include", folder.trim()))
}

fn bind_law(bpf: &Path, core: &Path, out: &Path) -> Result<()> {
    let wrappers = out.join("law.c");
    let header = |name| {
        bpf.join(name)
            .into_os_string()
            .into_string()
            .ok()
            .context("path is not UTF-8")
    };
    bindgen::builder()
        .header(header("intf.h")?)
        .header(header("sender_intf.h")?)
        .clang_arg(format!("-I{}", core.display()))
        // Nothing of a C library is in them, so none of the target's has to be there.
        .clang_args(["-ffreestanding", "-nostdinc", "-isystem"])
        .clang_arg(clangs_headers()?)
        .allowlist_item("(mp|MP)_.*")
        .wrap_static_fns(true)
        .wrap_static_fns_path(&wrappers)
        .derive_default(true)
        .derive_eq(true)
        .derive_hash(true)
        .generate()
        .context("reading linux/bpf/intf.h and sender_intf.h (libclang is needed)")?
        .write_to_file(out.join("intf.rs"))?;
    cc::Build::new()
        .file(&wrappers)
        .include(core)
        .include(bpf)
        .include(".")
        .compile("law");
    Ok(())
}
