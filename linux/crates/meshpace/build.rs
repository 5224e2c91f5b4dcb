// SPDX-License-Identifier: GPL-2.0-only
//! Compiles the BPF programs into an object that the program carries, and makes the law in core/
//! callable from Rust: the same headers for both.
use std::path::{Path, PathBuf};

use anyhow::{Context, Result};
use libbpf_cargo::SkeletonBuilder;

fn main() -> Result<()> {
    let linux = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    let core = linux.join("../core/include");
    let bpf = linux.join("bpf");
    let out = PathBuf::from(std::env::var("OUT_DIR")?);
    println!("cargo:rerun-if-changed={}", core.display());
    println!("cargo:rerun-if-changed={}", bpf.display());
    for program in ["gateway", "sender"] {
        compile_bpf(program, &bpf, &core, &out)?;
    }
    bind_law(&bpf, &core, &out)
}

fn compile_bpf(program: &str, bpf: &Path, core: &Path, out: &Path) -> Result<()> {
    // Debian keeps <asm/types.h> in a folder of the machine's; other systems in /usr/include.
    let machine = std::env::var("CARGO_CFG_TARGET_ARCH")?;
    let asm = format!("/usr/include/{machine}-linux-gnu");
    let core = core.to_str().context("path of core/ is not UTF-8")?;
    SkeletonBuilder::new()
        .source(bpf.join(format!("{program}.bpf.c")))
        .obj(out.join(format!("{program}.bpf.o")))
        .clang_args([
            "-mcpu=v3",
            "-ffreestanding",
            "-Wall",
            "-Werror",
            "-I",
            core,
            "-idirafter",
            &asm,
        ])
        .build()
        .with_context(|| {
            format!("compiling linux/bpf/{program}.bpf.c (clang and linux-libc-dev are needed)")
        })
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
