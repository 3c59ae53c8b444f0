; A barrier that some threads of the block do not reach is an error.
; REQUIRES: sim-kernel
; RUN: not %sim_kernel %s | FileCheck %s
; CHECK: error: {{.*}}divergent barrier

define void @k(ptr addrspace(1) %in, ptr addrspace(1) %out) {
  %t = call i32 @llvm.nvvm.read.ptx.sreg.tid.x()
  %c = icmp ult i32 %t, 40
  br i1 %c, label %some, label %end
some:
  call void @llvm.nvvm.barrier0()
  br label %end
end:
  ret void
}
