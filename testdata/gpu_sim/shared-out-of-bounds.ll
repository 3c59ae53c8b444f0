; The index into shared memory is off by one.
; REQUIRES: sim-kernel
; RUN: not %sim_kernel %s sanitize | FileCheck %s
; CHECK: error: {{.*}}at offset 256 of 256 bytes of shared memory

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %v, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %rev = sub i32 64, %t
  %s2 = getelementptr float, ptr addrspace(3) @tile, i32 %rev
  %w = load float, ptr addrspace(3) %s2
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %w, ptr addrspace(1) %q
  ret void
}
