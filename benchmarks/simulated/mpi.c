/* Stands for an MPI library: simulated ranks are seen waiting in these functions, nobody runs them. */

void MPI_Allreduce(void) {}
void MPI_Bcast(void) {}
void MPI_File_write_all(void) {}
void MPI_Probe(void) {}
void MPI_Recv(void) {}
void MPI_Send(void) {}
void MPI_Waitall(void) {}
