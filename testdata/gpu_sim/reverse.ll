; Threads meet at barriers and share memory, whatever the order in which they run.
; REQUIRES: sim-kernel
; RUN: %sim_kernel %s | FileCheck %s
; RUN: %sim_kernel %s seed=1 | FileCheck %s
; RUN: %sim_kernel %s seed=2 sanitize | FileCheck %s
; RUN: %sim_kernel %s seed=7 sanitize | FileCheck %s
; RUN: %sim_kernel %s blocks=2 | FileCheck %s
; RUN: not %sim_kernel %s blocks=2 sanitize | FileCheck %s --check-prefix=TWICE
; CHECK:      63 62 61 60 59 58 57 56 55 54 53 52 51 50 49 48
; CHECK-NEXT: 47 46 45
; TWICE: error: {{.*}}a race in global memory

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %p = getelementptr float, ptr addrspace(1) %in, i32 %t
  %v = load float, ptr addrspace(1) %p
  %s = getelementptr float, ptr addrspace(3) @tile, i32 %t
  store float %v, ptr addrspace(3) %s
  call void @llvm.nvvm.barrier0()
  %rev = sub i32 63, %t
  %s2 = getelementptr float, ptr addrspace(3) @tile, i32 %rev
  %w = load float, ptr addrspace(3) %s2
  %q = getelementptr float, ptr addrspace(1) %out, i32 %t
  store float %w, ptr addrspace(1) %q
  ret void
}
