; Four floats at once want an address that is a multiple of 16.
; REQUIRES: sim-kernel
; RUN: not %sim_kernel %s threads=1 sanitize | FileCheck %s
; CHECK: error: {{.*}}is misaligned

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %p = getelementptr float, ptr addrspace(1) %in, i32 1
  %v = load <4 x float>, ptr addrspace(1) %p, align 16
  store <4 x float> %v, ptr addrspace(1) %out, align 16
  ret void
}
